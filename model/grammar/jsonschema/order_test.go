package jsonschema_test

import (
	"encoding/json"
	"strings"
	"testing"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"pgregory.net/rapid"
)

// drawObjectSchema draws a schema of objects over few names. It is not in strict
// mode's form: "further" sees to that.
func drawObjectSchema(t *rapid.T) map[string]any {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]any{"a", "b", "c", "d"}), 0, 4, rapid.ID[any])
	value := rapid.SampledFrom([]any{true, map[string]any{"const": 1}, map[string]any{"type": "string"}, map[string]any{"enum": []any{1, "x"}}, false})
	s := map[string]any{"type": "object"}
	properties := map[string]any{}
	for _, n := range names.Draw(t, "names") {
		properties[n.(string)] = value.Draw(t, "value")
	}
	s["properties"] = properties
	keywords := map[string]func() any{
		"required":             func() any { return names.Draw(t, "required") },
		"additionalProperties": func() any { return value.Draw(t, "others") },
		"patternProperties":    func() any { return map[string]any{"[ce]": value.Draw(t, "pattern")} },
		"minProperties":        func() any { return rapid.IntRange(0, 4).Draw(t, "min") },
		"maxProperties":        func() any { return rapid.IntRange(0, 4).Draw(t, "max") },
		"propertyNames":        func() any { return map[string]any{"enum": []any{"a", "b", "c", "e"}} },
		"dependentRequired":    func() any { return map[string]any{"a": names.Draw(t, "dependent")} },
		"not":                  func() any { return map[string]any{"additionalProperties": value.Draw(t, "not")} },
		"anyOf": func() any {
			return []any{map[string]any{"required": names.Draw(t, "one")}, map[string]any{"properties": map[string]any{"a": value.Draw(t, "other")}}}
		},
	}
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(sortedKeys(keywords)), 0, 3, rapid.ID[string]).Draw(t, "keywords") {
		s[k] = keywords[k]()
	}
	return map[string]any{"allOf": []any{s}, "$defs": map[string]any{"further": map[string]any{"type": "object"}}}
}

// permutations returns list in all orders.
func permutations(list []string) [][]string {
	if len(list) == 0 {
		return [][]string{nil}
	}
	var out [][]string
	for i := range list {
		rest := append(append([]string(nil), list[:i]...), list[i+1:]...)
		for _, p := range permutations(rest) {
			out = append(out, append([]string{list[i]}, p...))
		}
	}
	return out
}

// TestAnyOrder writes random objects in all orders of their properties: each is
// accepted if another validator says that the object is valid. With a name of
// "properties" once more it never is.
func TestAnyOrder(t *testing.T) {
	accepted, rejected := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		schema := drawObjectSchema(rt)
		text, err := json.Marshal(schema)
		if err != nil {
			rt.Fatal(err)
		}
		judged := judge(text)
		if judged == nil {
			rt.Fatalf("the other validator refuses %s", text)
		}
		g, _, err := jsonschema.Grammar(text, jsonschema.Options{})
		if err != nil && !strings.Contains(err.Error(), "no value fulfils") {
			rt.Fatal(err)
		}
		listed := schema["allOf"].([]any)[0].(map[string]any)["properties"].(map[string]any)
		for range 5 {
			var members []string
			again := ""
			for _, n := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 0, 4, rapid.ID[string]).Draw(rt, "members") {
				member := `"` + n + `":` + rapid.SampledFrom([]string{`1`, `"x"`, `2`}).Draw(rt, "value")
				members = append(members, member)
				if listed[n] != nil {
					again = member
				}
			}
			v, uerr := oracle.UnmarshalJSON(strings.NewReader("{" + strings.Join(members, ",") + "}"))
			if uerr != nil {
				rt.Fatal(uerr)
			}
			valid := judged.Validate(v) == nil
			if err != nil {
				if valid {
					rt.Fatalf("%s: %v is valid", text, members)
				}
				continue
			}
			r := newRecogniser(t, g)
			for _, order := range permutations(members) {
				if got := r.accepts(t, "{"+strings.Join(order, ",")+"}"); got != valid {
					rt.Fatalf("%s: %v is accepted: %v, valid: %v", text, order, got, valid)
				}
			}
			if again != "" {
				for _, order := range permutations(append(members, again)) {
					if r.accepts(t, "{"+strings.Join(order, ",")+"}") {
						rt.Fatalf("%s: %v is accepted", text, order)
					}
				}
			}
			if valid {
				accepted++
			} else {
				rejected++
			}
		}
	})
	if accepted == 0 || rejected == 0 {
		t.Errorf("%d objects accepted, %d rejected: the test says nothing", accepted, rejected)
	}
	t.Logf("%d objects accepted, %d rejected", accepted, rejected)
}
