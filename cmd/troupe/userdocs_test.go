package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/configs"
)

var userDocs = []string{"install", "hardware", "clients", "moving", "proxy", "troubleshooting"}

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Commands and flags that the pages for users name are those of the binary.
func TestUserDocsNameRealFlags(t *testing.T) {
	command := regexp.MustCompile("(?m)(?:^    |`)troupe ([a-z][^`\\n#]*)")
	flag := regexp.MustCompile(`--([a-z][a-z-]+)`)
	found := 0
	for _, page := range userDocs {
		text := readDoc(t, page)
		for _, line := range command.FindAllStringSubmatch(text, -1) {
			c, rest, err := newRoot().Find(strings.Fields(line[1]))
			if err == nil && !c.HasParent() {
				t.Errorf("%s.md: troupe %s: no such command", page, line[1])
			}
			if err == nil {
				err = c.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%s.md: troupe %s: %v", page, line[1], err)
			}
			found++
		}
		if page == "moving" || page == "clients" || page == "install" { // these name flags of other programs
			continue
		}
		for _, span := range regexp.MustCompile("`--[^`]*`").FindAllString(text, -1) {
			found++
			checkServeFlags(t, page, flag.FindAllStringSubmatch(span, -1))
		}
	}
	// The first column is ours, as are the names that SGLang has as well.
	moving := readDoc(t, "moving")
	for line := range strings.Lines(moving) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			line = cells[1]
		} else if !strings.HasPrefix(line, "Names are SGLang's") {
			continue
		}
		flags := flag.FindAllStringSubmatch(line, -1)
		found += len(flags)
		checkServeFlags(t, "moving", flags)
	}
	if found < 70 {
		t.Errorf("only %d flags and commands were found", found)
	}
}

func checkServeFlags(t *testing.T, page string, names [][]string) {
	t.Helper()
	serve, _, err := newRoot().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if serve.Flags().Lookup(name[1]) == nil {
			t.Errorf("%s.md: troupe serve has no flag --%s", page, name[1])
		}
	}
}

// Texts in the first column of the tables of troubleshooting.md are those of the server.
func TestTroubleshootingQuotesRealTexts(t *testing.T) {
	all, err := os.ReadFile("testdata/texts.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, v := range configs.Default().Values() {
		known[v.Key] = true
	}
	checked := 0
	for line := range strings.Lines(readDoc(t, "troubleshooting")) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		for _, quote := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			checked++
			if !strings.Contains(string(all), quote[1]) && !known[quote[1]] {
				t.Errorf("no text has %q", quote[1])
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d quotes were found", checked)
	}
}

// The pages are linked from the README.
func TestReadmeLinksTheUserDocs(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range userDocs {
		if !strings.Contains(string(text), "](docs/"+page+".md)") {
			t.Errorf("README.md has no link to docs/%s.md", page)
		}
	}
}
