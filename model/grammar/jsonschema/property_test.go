package jsonschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"pgregory.net/rapid"
)

// A schema and a value over few names and scalars, so that keywords meet often.

func drawSchema(t *rapid.T, depth int) any {
	if depth == 0 || rapid.IntRange(0, 9).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom([]any{
			true, false, map[string]any{"type": "integer"}, map[string]any{"type": "string"}, map[string]any{"const": "a"},
			map[string]any{"enum": []any{1, "a", nil}}, map[string]any{"minimum": 2}, map[string]any{"type": []any{"object", "null"}},
		}).Draw(t, "schema")
	}
	s := map[string]any{}
	sub := func() any { return drawSchema(t, depth-1) }
	subs := func() []any {
		list := make([]any, rapid.IntRange(1, 3).Draw(t, "branches"))
		for i := range list {
			list[i] = sub()
		}
		return list
	}
	names := func() []any {
		return rapid.SampledFrom([][]any{{}, {"a"}, {"b"}, {"a", "c"}}).Draw(t, "names")
	}
	members := func() map[string]any {
		m := map[string]any{}
		for _, n := range names() {
			m[n.(string)] = sub()
		}
		return m
	}
	few := func() int { return rapid.IntRange(0, 3).Draw(t, "few") }
	keywords := map[string]func() any{
		"type":                  func() any { return rapid.SampledFrom([]string{"array", "object", "string", "number"}).Draw(t, "type") },
		"enum":                  func() any { return []any{drawValue(t, 1), drawValue(t, 2), 2} },
		"const":                 func() any { return drawValue(t, 2) },
		"minimum":               func() any { return rapid.SampledFrom([]any{-1, 0, 1.5, 2}).Draw(t, "bound") },
		"exclusiveMaximum":      func() any { return rapid.SampledFrom([]any{-1, 0, 1.5, 2, 30}).Draw(t, "bound") },
		"multipleOf":            func() any { return rapid.SampledFrom([]any{0.5, 1, 2, 3, 6, 2.5}).Draw(t, "step") },
		"minLength":             func() any { return few() },
		"maxLength":             func() any { return few() },
		"pattern":               func() any { return rapid.SampledFrom([]string{"a", "^a", "b$", "^(a|b)*$"}).Draw(t, "pattern") },
		"properties":            func() any { return members() },
		"patternProperties":     func() any { return map[string]any{"a|b": sub()} },
		"additionalProperties":  sub,
		"propertyNames":         func() any { return map[string]any{"maxLength": 1} },
		"required":              func() any { return names() },
		"minProperties":         func() any { return few() },
		"maxProperties":         func() any { return few() },
		"dependentRequired":     func() any { return map[string]any{"a": names()} },
		"dependentSchemas":      func() any { return map[string]any{"b": sub()} },
		"unevaluatedProperties": sub,
		"items":                 sub,
		"prefixItems":           func() any { return subs() },
		"contains":              sub,
		"minContains":           func() any { return few() },
		"maxContains":           func() any { return few() },
		"minItems":              func() any { return few() },
		"maxItems":              func() any { return few() },
		"unevaluatedItems":      sub,
		"uniqueItems":           func() any { return true },
		"allOf":                 func() any { return subs() },
		"anyOf":                 func() any { return subs() },
		"oneOf":                 func() any { return subs() },
		"not":                   sub,
		"if":                    sub,
		"then":                  sub,
		"else":                  sub,
		"$ref":                  func() any { return rapid.SampledFrom([]string{"#/$defs/x", "#"}).Draw(t, "ref") },
	}
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(sortedKeys(keywords)), 1, 4, rapid.ID[string]).Draw(t, "keywords") {
		s[k] = keywords[k]()
	}
	return s
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	// Map order is random; a replayed draw must not be.
	for i := range keys {
		for j := i; j > 0 && keys[j] < keys[j-1]; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
	return keys
}

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 3+depth).Draw(t, "kind")
	switch {
	case kind < 3 || depth == 0:
		return rapid.SampledFrom([]any{nil, true, false, 0, 1, 2, 3, 6, -1, 1.5, 2.5, "", "a", "b", "ab", "ba", "é"}).Draw(t, "scalar")
	case kind == 3:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	}
	m := map[string]any{}
	for _, n := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "dd"}), 0, 3, rapid.ID[string]).Draw(t, "names") {
		m[n] = drawValue(t, depth-1)
	}
	return m
}

// TestAgainstAnotherValidator compares verdicts about random values of random
// schemas. Names are written and declared in the order of the alphabet, so the
// order of properties does not matter.
func TestAgainstAnotherValidator(t *testing.T) {
	compiled, accepted, rejected := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		schema := map[string]any{"$defs": map[string]any{"x": drawSchema(rt, 1)}, "allOf": []any{drawSchema(rt, 3)}}
		text, err := json.Marshal(schema)
		if err != nil {
			rt.Fatal(err)
		}
		judged := judge(text)
		g, _, err := jsonschema.Grammar(text, jsonschema.Options{Limits: jsonschema.Limits{Work: 100_000}})
		if judged == nil || err != nil && !strings.Contains(err.Error(), "no value fulfils") {
			return
		}
		compiled++
		for i := range 10 {
			data, merr := json.Marshal(drawValue(rt, 2))
			if merr != nil {
				rt.Fatal(merr)
			}
			v, uerr := oracle.UnmarshalJSON(strings.NewReader(string(data)))
			if uerr != nil {
				rt.Fatal(uerr)
			}
			valid := judged.Validate(v) == nil
			got := false
			if err == nil {
				r := newRecogniser(t, g)
				got = r.accepts(t, string(data))
			}
			if got != valid {
				rt.Fatal(fmt.Sprintf("value %d, %s, of %s: accepted %v, valid %v", i, data, text, got, valid))
			}
			if valid {
				accepted++
			} else {
				rejected++
			}
		}
	})
	if compiled == 0 || accepted == 0 || rejected == 0 {
		t.Errorf("%d schemas, %d values accepted, %d rejected: the test says nothing", compiled, accepted, rejected)
	}
	t.Logf("%d schemas, %d values accepted, %d rejected", compiled, accepted, rejected)
}
