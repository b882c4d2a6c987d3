package jsonschema_test

import (
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
)

// TestKeywords has what random schemas meet too seldom, and what validators
// cannot say: order, spelling and whitespace.
func TestKeywords(t *testing.T) {
	for _, c := range []struct {
		name, schema   string
		accept, reject []string
	}{
		{"maxContains under not", `{"type":"array","not":{"contains":{"const":1},"minContains":0,"maxContains":1}}`,
			[]string{`[1,1]`, `[1,2,1,1]`}, []string{`[]`, `[1]`, `[2,2]`}},
		{"branches that hold together", `{"type":"object","anyOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}],"unevaluatedProperties":false}`,
			[]string{`{"a":1}`, `{"b":1}`, `{"a":1,"b":1}`}, []string{`{}`, `{"a":1,"c":1}`}},
		{"items that contains looked at", `{"type":"array","contains":{"type":"string"},"unevaluatedItems":{"type":"null"}}`,
			[]string{`["a"]`, `[null,"a"]`}, []string{`[]`, `[null]`, `["a",1]`}},
		{"any order", `{"type":"object","properties":{"b":{},"a":{}},"required":["c","a"]}`,
			[]string{`{"b":1,"a":1,"c":1,"d":1}`, `{"c":1,"a":1}`, `{"d":1,"a":1,"e":1,"c":1,"b":1}`}, []string{`{"a":1,"b":1}`, `{"c":1,"a":1,"c":1}`, `{"a":1,"d":1,"a":1,"c":1}`}},
		{"any order across schemas", `{"type":"object","allOf":[{"properties":{"a":{}}},{"required":["c"]}],"properties":{"b":{}},"additionalProperties":{"const":1}}`,
			[]string{`{"b":2,"a":1,"c":1}`, `{"c":1,"a":1,"b":2}`}, []string{`{"b":1}`, `{"b":2,"a":2,"c":1}`}},
		{"declared order in strict mode", `{"type":"object","properties":{"b":{},"a":{"anyOf":[{"$ref":"#/$defs/x"},{"type":"null"}]}},"required":["a","b"],"additionalProperties":false,
			"$defs":{"x":{"type":"object","properties":{"d":{},"c":{"const":{"z":1,"y":2}}},"required":["c","d"],"additionalProperties":false}}}`,
			[]string{`{"b":1,"a":null}`, `{"b":1,"a":{"d":1,"c":{"y":2,"z":1}}}`}, []string{`{"a":null,"b":1}`, `{"b":1,"a":{"c":{"z":1,"y":2},"d":1}}`}},
		{"any order where one object is not in strict mode's form", `{"type":"object","properties":{"b":{},"a":{"type":"object"}},"required":["a","b"],"additionalProperties":false}`,
			[]string{`{"b":1,"a":{}}`, `{"a":{},"b":1}`}, []string{`{"a":{}}`, `{"a":{},"b":1,"c":1}`}},
		{"a listed name once", `{"type":"object","properties":{"a":{}}}`, []string{`{"a":1,"b":1}`, `{"b":1,"a":1}`}, []string{`{"a":1,"a":1}`, `{"a":1,"\u0061":1}`, `{"a":1,"b":1,"a":1}`}},
		{"as many properties as there may be", `{"type":"object","properties":{"a":{},"b":{}},"required":["a"],"minProperties":2,"maxProperties":3}`,
			[]string{`{"a":1,"b":1}`, `{"c":1,"a":1}`, `{"c":1,"d":1,"a":1}`}, []string{`{"a":1}`, `{"c":1,"d":1,"e":1}`, `{"c":1,"d":1,"b":1}`, `{"c":1,"d":1,"a":1,"b":1}`}},
		{"names of a finite pattern once", `{"type":"object","patternProperties":{"^[ab]$":{}},"additionalProperties":false}`,
			[]string{`{"a":1,"b":1}`}, []string{`{"a":1,"a":1}`, `{"c":1}`}},
		{"a further property among others", `{"type":"object","properties":{"a":{}},"not":{"properties":{"a":{}},"additionalProperties":{"type":"string"}}}`,
			[]string{`{"b":1}`, `{"b":1,"a":1,"c":""}`, `{"c":"","a":1,"b":1}`}, []string{`{}`, `{"a":1}`, `{"a":1,"b":"","c":""}`}},
		{"whitespace", `{"type":"array"}`, []string{"[1, 2]", "[ 1 ,2 ]", "[\n  1,\r\n\t2\n]"}, []string{"[1,  2]", "[1,\n\n2]", " []", "[] "}},
		{"spellings of a listed text", `{"const":"a/é\n"}`, []string{`"a/é\n"`, `"a\/\u00E9\u000a"`}, []string{`"\u0061/é\n"`, `"a/e\n"`, "\"a/é\n\""}},
		{"spellings of a free text", `{"type":"string"}`, []string{`"\u0061\ud83d\ude00"`, `"é"`}, []string{`"\ud83d"`, `"\x"`, "\"\t\"", "\"\xff\"", "\"\xe0\x81\xb0\""}},
		{"length in characters", `{"type":"string","minLength":2,"maxLength":2}`, []string{`"éé"`, `"😀\n"`, `"\ud83d\ude00a"`}, []string{`"é"`, `"aaa"`}},
		{"large numbers", `{"type":"integer","minimum":9007199254740993,"maximum":123456789012345678901}`,
			[]string{`9007199254740993`, `123456789012345678901`, `99999999999999999999.0`}, []string{`9007199254740992`, `123456789012345678902`, `9007199254740993.5`, `1e17`}},
		{"signs", `{"type":"number","exclusiveMinimum":0}`, []string{`1e-7`, `0.1`}, []string{`0`, `-0.0`, `0e5`, `-1e-7`}},
		{"numbers by value", `{"enum":[1.50,0]}`, []string{`1.5`, `1.500`, `0`, `-0.0`}, []string{`1.51`, `15e-1`, `01.5`}},
		{"multiples", `{"type":"number","multipleOf":0.75}`, []string{`0`, `-1.5`, `2.250`, `9`}, []string{`0.5`, `1`, `0.755`}},
		{"look-ahead", `{"type":"string","pattern":"^(?=.*\\d)(?!.*x)\\w{3,}$"}`, []string{`"ab1"`}, []string{`"abc"`, `"ax1"`, `"1"`}},
		{"boundaries", `{"type":"string","pattern":"\\bcat\\b"}`, []string{`"cat"`, `"a cat!"`}, []string{`"cats"`, `"a_cat"`}},
		{"leap seconds", `{"type":"string","format":"time"}`, []string{`"23:59:60Z"`, `"00:29:60+00:30"`, `"18:29:60-05:30"`}, []string{`"22:59:60Z"`, `"23:59:60+00:30"`}},
		{"leap years", `{"type":"string","format":"date"}`, []string{`"2024-02-29"`, `"2000-02-29"`}, []string{`"2023-02-29"`, `"1900-02-29"`, `"2024-04-31"`}},
		{"distinct items", `{"type":"array","items":{"enum":["a","b",1]},"uniqueItems":true}`, []string{`[]`, `["b","a"]`, `[1,"b","a"]`}, []string{`["a","a"]`, `[1,1.0]`}},
		{"a list that holds itself", `{"type":"array","items":{"$ref":"#"},"maxItems":2}`, []string{`[[],[[]]]`}, []string{`[1]`, `[[],[],[]]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _, err := jsonschema.Grammar([]byte(c.schema), jsonschema.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := newRecogniser(t, g)
			for _, text := range c.accept {
				if at := r.stops(t, text); at >= 0 {
					t.Errorf("%q is rejected at %q", text, text[at:])
				}
			}
			for _, text := range c.reject {
				if r.accepts(t, text) {
					t.Errorf("%q is accepted", text)
				}
			}
		})
	}
}
