package grammar_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// grammarCase is a grammar of another project's tests.
type grammarCase struct {
	Test    string
	Kind    string
	Grammar json.RawMessage
	Accept  []string
	Reject  []string
	Refused any
	Options map[string]any
}

func grammarCases(t *testing.T) []grammarCase {
	f, err := os.Open(conformance.Path(t, "structured", "grammar_cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []grammarCase
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var c grammarCase
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			list = append(list, c)
		}
		if err != nil {
			return list
		}
	}
}

// accepts reports whether text is a text of g, byte by byte.
func accepts(g *grammar.Grammar, text string) bool {
	m := g.Matcher()
	return m.AcceptBytes([]byte(text)) == nil && m.CanEnd()
}

// TestConformanceGrammarCases runs the grammars that others test theirs with.
// What fails must be in differences, and what is there must fail.
func TestConformanceGrammarCases(t *testing.T) {
	cases := grammarCases(t)
	v := smallVocabulary(t)
	passed, tried := map[string]int{}, map[string]int{}
	listed := map[string]bool{}
	for _, c := range cases {
		text := string(c.Grammar)
		if c.Kind != "structural_tag" && c.Kind != "json_schema" {
			if json.Unmarshal(c.Grammar, &text) != nil {
				continue
			}
		}
		kind := grammar.Kind(c.Kind)
		switch kind {
		case grammar.JSON, grammar.JSONSchema, grammar.Regex, grammar.EBNF, grammar.GBNF, grammar.Lark, grammar.Tags:
		default:
			continue
		}
		tried[c.Kind]++
		g, err := grammar.Compile(grammar.Source{Kind: kind, Text: text}, v, grammar.Limits{})
		var problem string
		switch {
		case c.Refused != nil && err == nil:
			problem = "compiled, but should be refused"
		case c.Refused == nil && err != nil:
			problem = "refused: " + err.Error()
		case err == nil:
			for _, in := range c.Accept {
				if !accepts(g, in) {
					problem = "rejects " + in
				}
			}
			for _, in := range c.Reject {
				if accepts(g, in) {
					problem = "accepts " + in
				}
			}
		}
		reason, known := differences[text]
		switch {
		case problem == "":
			passed[c.Kind]++
		case !known:
			t.Errorf("%s: %s\n%s", c.Test, problem, text)
		default:
			listed[text] = true
			t.Logf("%s (%s): %s", problem, reason, text)
		}
	}
	for text := range differences {
		if !listed[text] {
			t.Errorf("listed as a difference, but there is none: %s", text)
		}
	}
	t.Logf("passed %v of %v", passed, tried)
}

// differences are grammars whose meaning differs here, and why.
var differences = map[string]string{}
