package jsonschema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

func refusalOf(t *testing.T, schema string) *jsonschema.Error {
	t.Helper()
	_, _, err := jsonschema.Grammar([]byte(schema), jsonschema.Options{})
	var e *jsonschema.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("%.80s: %T is not an *Error", schema, err)
	}
	return e
}

func TestRefusedWithPlaceAndKeyword(t *testing.T) {
	branches := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%s{"anyOf":[{"required":["a%d"]},{"required":["b%d"]}]}`, map[bool]string{true: ",", false: ""}[i > 0], i, i)
		}
		return `{"allOf":[` + b.String() + `]}`
	}
	for _, c := range []struct{ name, schema, pointer, keyword, reason string }{
		{"not JSON", `{"type":`, "/type", "", "unexpected EOF"},
		{"a name twice", `{"type":"string","type":"null"}`, "/type", "", "duplicate"},
		{"no schema", `{"properties":{"a":3}}`, "/properties/a", "", "an object, true or false"},
		{"10,000 levels", strings.Repeat(`{"not":`, 10_000) + `{}` + strings.Repeat(`}`, 10_000), strings.Repeat("/not", 1_001), "", "deeper than 1000"},
		{"an unknown type", `{"items":{"type":"int"}}`, "/items", "type", "must be"},
		{"a remote reference", `{"properties":{"a":{"$ref":"http://example.com/s"}}}`, "/properties/a", "$ref", "not part of the request"},
		{"a reference to nothing", `{"$ref":"#/$defs/a"}`, "", "$ref", "nothing at"},
		{"references in a circle", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, "/$defs/a", "$ref", "refers to itself"},
		{"a back reference", `{"pattern":"(a)\\1"}`, "", "pattern", "back to a group"},
		{"an inexact format", `{"items":{"format":"regex"}}`, "/items", "format", "not a regular language"},
		{"unique items", `{"properties":{"a/b":{"uniqueItems":true}}}`, "/properties/a~1b", "uniqueItems", "known values"},
		{"multiples of a prime", `{"multipleOf":101}`, "", "multipleOf", "automaton"},
		{"multiplied alternatives", branches(30), "", "allOf", "multiply"},
		{"a contradiction", `{"type":"string","minLength":3,"maxLength":2}`, "", "", "no value"},
		{"a contradiction deep down", `{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`, "", "", "no value"},
		{"counted repetitions", `{"pattern":"(a{1,1000}){1,1000}b","not":{"pattern":"(a{1,999}b){1,999}"}}`, "", "", "memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := refusalOf(t, c.schema)
			if e == nil {
				t.Fatal("it compiles")
			}
			if e.Pointer != c.pointer || e.Keyword != c.keyword || !strings.Contains(e.Reason, c.reason) {
				t.Errorf("pointer %.60q, keyword %q, reason %q", e.Pointer, e.Keyword, e.Reason)
			}
		})
	}
}

func TestSizeIsBounded(t *testing.T) {
	if e := refusalOf(t, `"`+strings.Repeat("a", 5<<20)+`"`); e == nil || !strings.Contains(e.Reason, "bytes") {
		t.Errorf("5 MiB: %v", e)
	}
	var enum strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&enum, `,"value %d"`, i)
	}
	// What this becomes may be refused, but not by a crash or for ever.
	t.Log(refusalOf(t, `{"enum":[null`+enum.String()+`]}`))
	t.Log(refusalOf(t, `{"items":true,"maxItems":1000000,"minItems":999999}`))
}

func TestLenientListsWhatItLeavesOut(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"a":{"type":"array","uniqueItems":true},"b":{"format":"regex","maxLength":2}},"required":["a","b"],"additionalProperties":false}`)
	g, omissions, err := jsonschema.Grammar(schema, jsonschema.Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	want := map[jsonschema.Omission]bool{{Pointer: "/properties/a", Keyword: "uniqueItems"}: true, {Pointer: "/properties/b", Keyword: "format"}: true}
	for _, o := range omissions {
		if !want[o] {
			t.Errorf("left out: %v", o)
		}
		delete(want, o)
	}
	if len(want) > 0 {
		t.Errorf("kept: %v", want)
	}
	r := newRecogniser(t, g)
	if !r.accepts(t, `{"a":[1,1],"b":"("}`) || r.accepts(t, `{"a":[1,1],"b":"((("}`) {
		t.Error("the rest of the schema does not hold")
	}
	if _, _, err := jsonschema.Grammar([]byte(`{"type":"int"}`), jsonschema.Options{Lenient: true}); err == nil {
		t.Error("an invalid schema compiles")
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"oneOf":[{"minimum":1},{"multipleOf":3}]}`,
		`{"items":[{"const":1}],"additionalItems":{"not":{"pattern":"^a(?=b)"}}}`, `{"patternProperties":{"a":{}},"minProperties":2}`,
		`{"$id":"http://a/","$dynamicAnchor":"x","unevaluatedItems":{"$dynamicRef":"#x"}}`, `{"contains":{"enum":["\u0000",1e3]},"uniqueItems":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		b := cfg.New(regex.NewSet(regex.Limits{Terms: 20_000}), cfg.Limits{Symbols: 50_000})
		_, _, err := jsonschema.Compile(b, schema, jsonschema.Options{Lenient: len(schema)%2 == 0, Limits: jsonschema.Limits{Work: 5_000}})
		var e *jsonschema.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%T is not an *Error", err)
		}
	})
}
