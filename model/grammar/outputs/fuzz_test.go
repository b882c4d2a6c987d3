package outputs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
)

func FuzzCompile(f *testing.F) {
	for _, of := range output.Formats() {
		s := outputs.Spec{Format: of, Tools: threeTools(false)}
		text, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`{"format":{"calls":{"call":{"headers":["{name}"]}}},"tools":[{"name":"x","input":{"kind":"regex","text":"a"}}],"content":{"kind":"choice","text":"[\"a\"]"}}`)
	v := newVocabulary(f, output.Formats()[0], true)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := grammar.Compile(grammar.Source{Kind: grammar.Output, Text: text}, v, grammar.Limits{Symbols: 100_000})
		if err != nil {
			if !errors.As(err, new(*grammar.Error)) {
				t.Fatal(err)
			}
			return
		}
		if _, err := g.Sample(rand.New(rand.NewPCG(1, 2))); err != nil && !errors.As(err, new(*grammar.Error)) {
			t.Fatal(err)
		}
	})
}

// FuzzSchemas checks that calls of a tool with any name and schema are read as such, with arguments that the
// schema allows.
func FuzzSchemas(f *testing.F) {
	for i, schema := range []string{weatherSchema, addSchema, findSchema, `{"additionalProperties":{"type":"string"}}`, `{"properties":{"a":{"not":{"type":"number"}},"b":{"enum":["x",1,"[1]",null]}}}`,
		`{"properties":{"a":{"minLength":3}},"required":["a"]}`, `{"patternProperties":{"^a":{"type":["string","array"]}},"minProperties":1,"maxProperties":2}`} {
		f.Add(uint8(i), "f", schema, i%2 == 0)
	}
	formats := output.Formats()
	f.Fuzz(func(t *testing.T, i uint8, name, schema string, special bool) {
		of := formats[int(i)%len(formats)]
		if !json.Valid([]byte(schema)) || !utf8.ValidString(name) || len(schema) > 2_000 {
			return
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(schema)))
		if err != nil {
			return
		}
		c := jsonschema.NewCompiler()
		if c.AddResource("mem://x", doc) != nil {
			return
		}
		if _, err := c.Compile("mem://x"); err != nil {
			return
		}
		s := outputs.Spec{Format: of, Required: true, Tools: []outputs.Tool{{Name: name, Parameters: json.RawMessage(schema), Strict: of.Calls == nil || of.Calls.Call.Arguments != output.Bare}}}
		g, err := grammar.Compile(sourceOf(t, s), newVocabulary(t, of, special), grammar.Limits{Symbols: 100_000})
		if err != nil {
			if !errors.As(err, new(*grammar.Error)) {
				t.Fatal(err)
			}
			return
		}
		r, random := newReader(t, s), rand.New(rand.NewPCG(1, 2))
		for range 3 {
			text, err := g.Sample(random)
			if err != nil {
				return
			}
			if m, err := r.read(text); err != nil && !strings.Contains(err.Error(), "minProperties") { // names that are not listed may repeat
				t.Fatalf("%s: %v\nin %q\nread as %+v", of.Name, err, text, m)
			}
		}
	})
}
