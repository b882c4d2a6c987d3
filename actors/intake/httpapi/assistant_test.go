package httpapi_test

import (
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

var (
	askedWeather = regexp.MustCompile(`weather in ([A-Z][a-z]+)(?: and ([A-Z][a-z]+))?`)
	toldAge      = regexp.MustCompile(`([A-Z][a-z]+) is (\d+) years old`)
)

// assistant is what a model of the format hermes says, so that the tests of clients can
// hold whole dialogues: it thinks, calls the tools weather, place and person if it has
// them and the question is about that, and answers with their results.
func assistant(prompt string) string {
	tools, question, results := "", "", []string(nil)
	for _, turn := range strings.Split(prompt, "<|user|>")[1:] {
		turn, _, _ = strings.Cut(turn, "<|end|>")
		if list, ok := strings.CutPrefix(turn, "Tools:"); ok {
			tools = list
		} else if result, ok := strings.CutPrefix(turn, "Result: "); ok {
			results = append(results, strings.Trim(result, `"`))
		} else {
			question, results = turn, nil // those of earlier questions are of no use
		}
	}
	has := func(tool string) bool { return strings.Contains(tools, fmt.Sprintf(`"name": %q`, tool)) }
	cities, age := askedWeather.FindStringSubmatch(question), toldAge.FindStringSubmatch(question)
	here := strings.Contains(question, "weather here")
	switch {
	case here && len(results) == 1 && has("weather"):
		return thinking("Now the weather there.") + calling("weather", fmt.Sprintf(`{"city": %q}`, results[0]))
	case len(results) > 0:
		return thinking("That will do.") + "I hear: " + strings.Join(results, ", ")
	case here && has("place"):
		return thinking("Where is that?") + calling("place", "{}")
	case cities != nil && has("weather"):
		calls := []string{}
		if !strings.Contains(question, "just call") {
			calls = append(calls, "I look.")
		}
		for _, city := range cities[1:] {
			if city != "" {
				calls = append(calls, calling("weather", fmt.Sprintf(`{"city": %q}`, city)))
			}
		}
		return thinking("It wants the weather.") + strings.Join(calls, "\n")
	case age != nil && has("person"):
		return thinking("A person.") + calling("person", fmt.Sprintf(`{"name": %q, "age": %s}`, age[1], age[2]))
	case age != nil:
		return thinking("A person.") + fmt.Sprintf(`{"name": %q, "age": %s}`, age[1], age[2])
	}
	return thinking("No tool fits.") + "I do not know."
}

func thinking(text string) string { return "<think>\n" + text + "\n</think>\n\n" }

func calling(name, arguments string) string {
	return fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", name, arguments)
}

func startAssistant(t *testing.T) *testserver.Server {
	return testserver.Start(t, testserver.Options{Context: 4096, Pages: 4096, Template: dialogues["hermes"].template, Script: assistant})
}

// The clients for Node hold dialogues with the assistant, see testkit/clients/node/run.sh.
func TestServeAssistant(t *testing.T) {
	path := os.Getenv("TROUPE_ASSISTANT")
	if path == "" {
		t.Skip("TROUPE_ASSISTANT is not set; it is the file that gets the address of a server, which runs until it is told to end by a signal")
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, os.Interrupt)
	s := startAssistant(t)
	if err := os.WriteFile(path+".part", []byte(s.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		t.Fatal(err)
	}
	<-ended
}
