package outputs_test

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
)

// TestInputsOfCustomTools draws calls of custom tools in all formats and checks the text that a parser reads.
func TestInputsOfCustomTools(t *testing.T) {
	for _, in := range []struct{ kind, text, want string }{
		{"regex", `SELECT "[a-z\\]+"( |\n\t?)FROM 'x';?`, `^SELECT "[a-z\\]+"( |\n\t?)FROM 'x';?$`},
		{"regex", `(?!.*b")[ab"\n]{3,5}`, `^[ab"\n]{3,5}$`},
		{"lark", "start: \"begin\" block \"end\"\nblock: (\"\\\"\" block \"\\\\\" | /[a-z\\n]/)*", `^begin["\\a-z\n]*end$`},
		{"lark", "start: T\nT: /[^<>]+/ & /.*\"x.*/", `^[^<>]*"x`},
	} {
		want := regexp.MustCompile(in.want)
		for _, f := range output.Formats() {
			for _, special := range []bool{false, true} {
				s := outputs.Spec{Format: f, Required: true, Tools: []outputs.Tool{{Name: "sql", Input: &outputs.Text{Kind: in.kind, Text: in.text}}, {Name: "f"}}}
				g, r := compile(t, newVocabulary(t, f, special), s), newReader(t, s)
				random := rand.New(rand.NewPCG(5, 6))
				read := 0
				for range 12 {
					text, err := g.Sample(random)
					if err != nil {
						t.Fatalf("%s, %s: %v", f.Name, in.text, err)
					}
					m, err := r.read(text)
					if err != nil {
						t.Fatalf("%s, %s: %v in %q", f.Name, in.text, err, text)
					}
					for _, call := range m.Calls {
						var arguments struct{ Input string }
						if call.Name != "sql" {
							continue
						}
						if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil || !want.MatchString(arguments.Input) {
							t.Fatalf("%s, %s: the input of %q is %q, %v", f.Name, in.text, text, arguments.Input, err)
						}
						read++
					}
				}
				if read == 0 {
					t.Errorf("%s, %s: no call", f.Name, in.text)
				}
			}
		}
	}
}

// TestInputsThatAreAllowed checks spellings by hand.
func TestInputsThatAreAllowed(t *testing.T) {
	tool := outputs.Tool{Name: "sql", Input: &outputs.Text{Kind: "regex", Text: `[a-z"\n]+`}}
	for name, c := range map[string]struct{ yes, no []string }{
		"hermes": {[]string{`<tool_call>{"name": "sql", "arguments": {"input": "a\"b\n"}}</tool_call>`},
			[]string{`<tool_call>{"name": "sql", "arguments": {"input": "A"}}</tool_call>`, `<tool_call>{"name": "sql", "arguments": {"input": ""}}</tool_call>`, `<tool_call>{"name": "sql", "arguments": {"input": "\\"}}</tool_call>`}},
		"qwen3-coder": {[]string{"<tool_call>\n<function=sql>\n<parameter=input>\na\"b\n\n</parameter>\n</function>\n</tool_call>", "<function=sql><parameter=input>a</parameter></function>"},
			[]string{"<function=sql><parameter=input>A</parameter></function>", "<function=sql></function>"}},
		"lfm2":    {[]string{`<|tool_call_start|>[sql(input="a\"b\n")]<|tool_call_end|>`}, []string{`<|tool_call_start|>[sql(input='a')]<|tool_call_end|>`}},
		"gemma-4": {[]string{"<|tool_call>call:sql{input:<|\"|>a\"b\n<|\"|>}<tool_call|>"}, []string{"<|tool_call>call:sql{}<tool_call|>"}},
	} {
		f := format(t, name)
		g := compile(t, newVocabulary(t, f, true), outputs.Spec{Format: f, Tools: []outputs.Tool{tool}, Required: true})
		for _, text := range c.yes {
			if ok, upto := accepts(g, text); !ok {
				t.Errorf("%s refuses %q behind %q", name, text, upto)
			}
		}
		for _, text := range c.no {
			if ok, _ := accepts(g, text); ok || !strings.Contains(text, "sql") {
				t.Errorf("%s allows %q", name, text)
			}
		}
	}
}
