package outputs_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
)

// TestPromptEndsWithTheMark draws outputs of a format whose prompt ends with the mark of calls and content.
func TestPromptEndsWithTheMark(t *testing.T) {
	f := format(t, "functionary-v3.2")
	for _, of := range settings {
		s := outputs.Spec{Format: f, Tools: threeTools(false)}
		of.change(&s)
		s.Opened = ">>>"
		random := rand.New(rand.NewPCG(1, 14))
		g, r := compile(t, newVocabularyWith(t, f, false, fragments(f, random), nil), s), newReader(t, s)
		for range 80 {
			text, err := g.Sample(random)
			if err != nil {
				t.Fatalf("%s: %v after %.300q", of.name, err, text)
			}
			m, err := r.read(text)
			if err != nil || strings.HasPrefix(m.Content, "all\n") {
				t.Fatalf("%s: %v\nin %q\nread as %+v", of.name, err, text, m)
			}
		}
		for text, want := range map[string]bool{"get_weather\n{\"city\": \"Bonn\"}": s.Tools != nil, "all\nHello": !s.Required && s.Content == nil, "all\n{\"ok\": true}": !s.Required, "Hello": false,
			">>>get_weather\n{\"city\": \"Bonn\"}": false, "all\nOk.>>>get_weather\n{\"city\": \"Bonn\"}": !s.Required && s.Content == nil, "all\nadd\n{": !s.Required && s.Content == nil} {
			if ok, upto := accepts(g, text); ok != want {
				t.Errorf("%s: %q: %v behind %q", of.name, text, ok, upto)
			}
		}
	}
}

// TestThoughtsOfAllKinds draws outputs with every way to mark thoughts, where the prompt has opened them, with and
// without white space behind the mark, and where it has not.
func TestThoughtsOfAllKinds(t *testing.T) {
	ways := map[string]output.Format{}
	for _, name := range output.ReasoningParsers() {
		f, err := output.Named(format(t, "phi-4-mini"), "", name)
		if err != nil {
			t.Fatal(err)
		}
		ways[name] = f
	}
	apriel := format(t, "apriel")
	apriel.Reasoning = output.Reasoning{Open: "Here are my reasoning steps:\n", Close: "[BEGIN FINAL RESPONSE]", KeepOpen: true}
	ways["apriel"] = apriel
	for name, f := range ways {
		for _, opened := range []string{"", f.Reasoning.Open, strings.TrimRight(f.Reasoning.Open, "\n"), f.Reasoning.Open + "\n"} {
			if f.Reasoning.Close == "" && opened != "" {
				continue
			}
			for _, change := range []func(*outputs.Spec){settings[0].change, settings[1].change, settings[5].change} {
				s := outputs.Spec{Format: f, Opened: opened, Tools: threeTools(false)}
				change(&s)
				random := rand.New(rand.NewPCG(uint64(len(name)), 13))
				g, r := compile(t, newVocabularyWith(t, f, len(name)%2 == 0, fragments(f, random), nil), s), newReader(t, s)
				thoughts := 0
				for range 15 {
					text, err := g.Sample(random)
					if err != nil {
						t.Fatalf("%s: %v after %.300q", name, err, text)
					}
					m, err := r.read(text)
					if err != nil {
						t.Fatalf("%s, opened %q: %v\nin %q\nread as %+v", name, opened, err, text, m)
					}
					if strings.Contains(m.Content, f.Reasoning.Close) && f.Reasoning.Close != "" && opened != "" && !strings.Contains(text[strings.Index(text, f.Reasoning.Close)+1:], f.Reasoning.Close) {
						t.Fatalf("%s, opened %q: thoughts in the content of %q, %+v", name, opened, text, m)
					}
					thoughts += len(m.Reasoning)
				}
				if thoughts == 0 && opened != "" {
					t.Errorf("%s, opened %q: no thoughts", name, opened)
				}
			}
		}
	}
}
