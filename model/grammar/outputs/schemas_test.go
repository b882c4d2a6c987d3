package outputs_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/outputs"
)

// schemas are those in which a text between tags could be taken for something else.
var schemas = []string{
	`{"properties":{"a":{"type":["string","integer"],"minimum":5}},"required":["a"]}`,
	`{"properties":{"a":{"anyOf":[{"type":"string","maxLength":4},{"type":"array","items":{"type":"boolean"}}]}},"required":["a"],"additionalProperties":false}`,
	`{"properties":{"a":{"not":{"type":["number","object","array"]}}},"required":["a"]}`,
	`{"properties":{"a":{"enum":["1",1.5,"null",null,"true","[1]","{\"x\":1}","None","\"q\"","(1)","x"]}},"required":["a"]}`,
	`{"properties":{"a":{"enum":["\n","\nx","x\n","\n\nx\n\n"," "]}},"required":["a"],"additionalProperties":false}`,
	`{"additionalProperties":{"type":"string","minLength":1},"minProperties":1}`,
	`{"patternProperties":{"^[a-c]":{"type":"string"}},"propertyNames":{"pattern":"^[a-d]"},"additionalProperties":{"type":"integer"}}`,
	`{"properties":{"a":{"minLength":3}},"required":["a"]}`,
	`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/c"},"c":{"type":"string","pattern":"^<.*>$"}},"required":["b"],"additionalProperties":false}`,
	`{"properties":{"a":{"type":"array","items":{"type":"string","pattern":"</"},"minItems":1,"maxItems":2}},"required":["a"],"additionalProperties":false}`,
	`{"properties":{"a":{"type":"string","format":"date"},"b":{"allOf":[{"type":["string","null"]},{"minLength":2}]}},"dependentRequired":{"a":["b"]},"additionalProperties":false}`,
	`{"type":["object","null"],"oneOf":[{"properties":{"k":{"const":"x"},"v":{"type":"string"}},"required":["k","v"]},{"properties":{"k":{"const":"y"},"v":{"type":"integer"}},"required":["k","v"]}]}`,
	`{"properties":{"a":{"type":["boolean","string"]},"b":{"type":["object","string"]},"c":{"type":["null","string"]}},"required":["a","b","c"]}`,
	`{"properties":{"a":{}},"required":["a"]}`,
	`{"properties":{"a":true,"b":false},"maxProperties":1}`,
	`{"properties":{"x":{"type":"string"},"a>b":{"type":"string"},"c d":{"type":"string"}},"additionalProperties":false,"minProperties":1}`,
	`{"properties":{"zeta":{"type":"string"},"alpha":{"type":"integer"}},"required":["zeta","alpha"],"additionalProperties":false}`,
	`true`, `{"type":"object"}`,
}

// TestSchemasOutsideOfJSON draws calls in the formats that do not write JSON, from a vocabulary of pieces of marks and
// values, and checks that what is read fulfils the schema.
func TestSchemasOutsideOfJSON(t *testing.T) {
	total := 0
	for _, name := range []string{"qwen3-coder", "seed-oss", "glm-4.5", "deepseek-v3.2", "minimax-m2", "lfm2", "pythonic"} {
		for i, schema := range schemas {
			for _, special := range []bool{false, true} {
				f := format(t, name)
				s := outputs.Spec{Format: f, Required: true, Tools: []outputs.Tool{{Name: "f", Parameters: json.RawMessage(schema), Strict: true}}}
				random := rand.New(rand.NewPCG(uint64(i), 12))
				words := append(fragments(f, random), "1", "2", "None", "null", "true", "True", "[1]", "(1)", `"q"`, "{", "}", "\n", "\n\n", "x", "<a>", "2024-02-02")
				g, r := compile(t, newVocabularyWith(t, f, special, words, nil), s), newReader(t, s)
				for range 12 {
					text, err := g.Sample(random)
					if err != nil {
						t.Fatalf("%s, %s: %v after %.300q", name, schema, err, text)
					}
					if m, err := r.read(text); err != nil {
						t.Fatalf("%s, %s: %v\nin %q\nread as %+v", name, schema, err, text, m)
					}
					total++
				}
			}
		}
	}
	t.Logf("%d samples", total)
}

// TestTextsBetweenTags checks values by hand.
func TestTextsBetweenTags(t *testing.T) {
	f := format(t, "qwen3-coder")
	for _, c := range []struct {
		schema  string
		yes, no []string
	}{
		{schemas[0], []string{"5", "four", "4 to 6", "", "\"x\""}, []string{"4", "4.5", " 4 "}},
		{schemas[1], []string{"[true]", "[x", "(ab"}, []string{"[1]", "abcde", "(1)", "[]]]"}},
		{schemas[3], []string{"x", "1.5", "null", "[1]"}, []string{"1", "True", "y"}},
		{schemas[4], []string{"\n\nx\n", "\n \n", " "}, []string{"x", "\nx"}},
		{schemas[13], []string{"5", "[1, ", "{}", "any\ntext"}, []string{"</parameter>"}},
		{`{"properties":{"a":{"type":"number"}}}`, []string{"1.5", "\n1\n", " 2e3"}, []string{"x", "\"1\"", ""}},
	} {
		s := outputs.Spec{Format: f, Required: true, Tools: []outputs.Tool{{Name: "f", Parameters: json.RawMessage(c.schema), Strict: true}}}
		g := compile(t, newVocabulary(t, f, false), s)
		call := func(value string) string {
			return "<tool_call>\n<function=f>\n<parameter=a>" + value + "</parameter>\n</function>\n</tool_call>"
		}
		for _, value := range c.yes {
			if ok, upto := accepts(g, call(value)); !ok {
				t.Errorf("%s refuses %q behind %q", c.schema, value, upto)
			}
		}
		for _, value := range c.no {
			if ok, _ := accepts(g, call(value)); ok {
				t.Errorf("%s allows %q", c.schema, value)
			}
		}
	}
}

// TestOrderOfParameters: declared order where the schema has the form of strict mode, any order elsewhere.
func TestOrderOfParameters(t *testing.T) {
	for schema, any := range map[string]bool{schemas[16]: false, `{"properties":{"zeta":{"type":"string"},"alpha":{"type":"integer"}}}`: true} {
		for name, texts := range map[string][2]string{
			"glm-4.5": {"<tool_call>f\n<arg_key>zeta</arg_key><arg_value>x</arg_value><arg_key>alpha</arg_key><arg_value>1</arg_value></tool_call>",
				"<tool_call>f\n<arg_key>alpha</arg_key><arg_value>1</arg_value><arg_key>zeta</arg_key><arg_value>x</arg_value></tool_call>"},
			"pythonic": {`[f(zeta="x", alpha=1)]`, `[f(alpha=1, zeta="x")]`},
		} {
			f := format(t, name)
			g := compile(t, newVocabulary(t, f, true), outputs.Spec{Format: f, Tools: []outputs.Tool{{Name: "f", Parameters: json.RawMessage(schema), Strict: true}}})
			for i, text := range texts {
				if ok, upto := accepts(g, text); ok != (i == 0 || any) {
					t.Errorf("%s, %s: %q: %v behind %q", name, schema, text, ok, upto)
				}
			}
		}
	}
}
