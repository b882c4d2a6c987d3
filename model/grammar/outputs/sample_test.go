package outputs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
)

const (
	weatherSchema = `{"type":"object","properties":{"city":{"type":"string","minLength":2,"pattern":"^[^#]*$"},"days":{"type":"integer","minimum":1,"maximum":9},
		"unit":{"enum":["celsius","fahrenheit"]},"detail":{"type":["string","null"]}},"required":["city"],"additionalProperties":false}`
	addSchema  = `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"},"exact":{"type":"boolean"}},"required":["a","b","exact"],"additionalProperties":false,"$defs":{"n":{"type":"number"}}}`
	findSchema = `{"type":"object","properties":{"where":{"type":"object","properties":{"tag":{"type":"string"},"not":{"$ref":"#/properties/where"}},"additionalProperties":false},
		"tags":{"type":"array","items":{"type":"string"},"maxItems":2},"limit":{"anyOf":[{"type":"integer"},{"const":"all"}]}}}`
)

func threeTools(strict bool) []outputs.Tool {
	list := []outputs.Tool{
		{Name: "get_weather", Parameters: json.RawMessage(weatherSchema)},
		{Name: "add", Parameters: json.RawMessage(addSchema)},
		{Name: "find-2", Parameters: json.RawMessage(findSchema)},
	}
	for i := range list {
		list[i].Strict = strict
	}
	return list
}

// reader is what reads the outputs of a spec.
type reader struct {
	spec    outputs.Spec
	options output.Options
	schemas map[string]*jsonschema.Schema
}

func newReader(t testing.TB, s outputs.Spec) *reader {
	t.Helper()
	r := &reader{s, output.Options{Opened: s.Opened}, map[string]*jsonschema.Schema{}}
	for _, tool := range s.Tools {
		text := tool.Parameters
		if tool.Input != nil {
			text = json.RawMessage(outputs.InputParameters)
		}
		r.options.Tools = append(r.options.Tools, output.Tool{Name: tool.Name, Parameters: text})
		if text == nil {
			text = json.RawMessage(`{"type":"object"}`)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource("mem://x", doc); err != nil {
			t.Fatal(err)
		}
		if r.schemas[tool.Name], err = c.Compile("mem://x"); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// read reads an output, and says what is wrong with it.
func (r *reader) read(text string) (output.Message, error) {
	s := &r.spec
	m := output.Read(&s.Format, r.options, text, false)
	switch {
	case s.Required && len(m.Calls) == 0:
		return m, fmt.Errorf("no call")
	case s.Required && strings.TrimSpace(m.Content) != "":
		return m, fmt.Errorf("content %q", m.Content)
	case s.Single && len(m.Calls) > 1:
		return m, fmt.Errorf("%d calls", len(m.Calls))
	case s.Content != nil && len(m.Calls) > 0 && strings.TrimSpace(m.Content) != "":
		return m, fmt.Errorf("content beside a call")
	case s.Content != nil && len(m.Calls) == 0 && m.Content != `{"ok": true}` && m.Content != `{"ok": false}`:
		return m, fmt.Errorf("the content is %q", m.Content)
	case s.NoThoughts && m.Reasoning != "":
		return m, fmt.Errorf("thoughts %q", m.Reasoning)
	}
	for _, call := range m.Calls {
		schema := r.schemas[call.Name]
		if !call.Complete || schema == nil {
			return m, fmt.Errorf("the call of %q is not complete or not known", call.Name)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(call.Arguments))
		if err != nil {
			return m, err
		}
		if s.Format.Calls != nil && s.Format.Calls.Call.Arguments == output.Bare {
			continue // free in form
		}
		if err := schema.Validate(value); err != nil {
			return m, fmt.Errorf("arguments %s: %w", call.Arguments, err)
		}
	}
	return m, r.leftovers(m.Content)
}

// leftovers finds marks of calls in the content.
func (r *reader) leftovers(content string) error {
	if len(r.spec.Tools) == 0 || r.spec.Format.Calls == nil {
		return nil
	}
	for _, mark := range []string{r.spec.Format.Calls.Begin, r.spec.Format.Calls.Call.Open} {
		if mark != "" && strings.Contains(content, mark) {
			return fmt.Errorf("a mark of calls in the content %q", content)
		}
	}
	return nil
}

// setting is a way to ask for an output.
type setting struct {
	name   string
	change func(*outputs.Spec)
}

var settings = []setting{
	{"auto", func(*outputs.Spec) {}},
	{"required", func(s *outputs.Spec) { s.Required = true }},
	{"single", func(s *outputs.Spec) { s.Required, s.Single = true, true }},
	{"no thoughts", func(s *outputs.Spec) { s.NoThoughts, s.Single = true, true }},
	{"opened", func(s *outputs.Spec) { s.Opened, s.Required = s.Format.Reasoning.Open, true }},
	{"content", func(s *outputs.Spec) { s.Content = &outputs.Text{Kind: "regex", Text: `\{"ok": (true|false)\}`} }},
	{"no tools", func(s *outputs.Spec) { s.Tools = nil }},
}

// think gives a format thoughts, if it has none of its own.
func think(f output.Format) output.Format {
	if f.Reasoning.Close == "" && f.Messages == nil {
		f.Reasoning = output.Reasoning{Open: "<think>", Close: "</think>"}
	}
	return f
}

// eachSpec calls f with every way to ask for an output of every format.
func eachSpec(f func(name string, s outputs.Spec, special bool)) {
	for _, of := range output.Formats() {
		for _, set := range settings {
			for _, special := range []bool{false, true} {
				strict := !special && (of.Calls == nil || of.Calls.Call.Arguments != output.Bare)
				s := outputs.Spec{Format: of, Tools: threeTools(strict)}
				if set.name != "single" {
					s.Format = think(of)
				}
				set.change(&s)
				f(fmt.Sprintf("%s, %s, strict %v, special %v", of.Name, set.name, strict, special), s, special)
			}
		}
	}
}

// eachSample draws outputs of a grammar and reads each as a server does, until one is read wrong.
func eachSample(t *testing.T, name string, g *grammar.Grammar, r *reader, random *rand.Rand, f func(text string, m output.Message)) {
	t.Helper()
	const samples = 8
	for range samples {
		text, err := g.Sample(random)
		if err != nil {
			t.Errorf("%s: %v after %.300q", name, err, text)
			return
		}
		m, err := r.read(text)
		if err != nil {
			t.Errorf("%s: %v\nin %q\nread as %+v", name, err, text, m)
			return
		}
		f(text, m)
	}
}

// TestSamplesAreRead draws outputs from the masks alone and reads them as a server does.
func TestSamplesAreRead(t *testing.T) {
	total, calls, thoughts := 0, map[string]int{}, map[string]int{}
	eachSpec(func(name string, s outputs.Spec, special bool) {
		g, r := compile(t, newVocabulary(t, s.Format, special, "<|call|>", "<|return|>", "<|calls|>"), s), newReader(t, s)
		if left := g.Omitted(); len(left) > 0 {
			t.Errorf("%s: left out: %v", name, left)
		}
		random := rand.New(rand.NewPCG(uint64(len(name)), 7))
		eachSample(t, name, g, r, random, func(_ string, m output.Message) {
			total++
			calls[s.Format.Name] += len(m.Calls)
			thoughts[s.Format.Name] += len(m.Reasoning)
		})
	})
	for _, f := range output.Formats() {
		if calls[f.Name] == 0 || thoughts[f.Name] == 0 {
			t.Errorf("%s: %d calls and %d bytes of thoughts", f.Name, calls[f.Name], thoughts[f.Name])
		}
	}
	t.Logf("%d samples, calls by format: %v", total, calls)
}

// TestAutoSamplesHaveContentAndCalls checks that a model may choose.
func TestAutoSamplesHaveContentAndCalls(t *testing.T) {
	for _, f := range output.Formats() {
		s := outputs.Spec{Format: f, Tools: threeTools(false)}
		with, without, r := compile(t, newVocabulary(t, f, true), s), compile(t, newVocabulary(t, f, false), s), newReader(t, s)
		random := rand.New(rand.NewPCG(3, 4))
		var kinds []string
		for n := range 1000 {
			g := with
			if n%2 > 0 {
				g = without
			}
			if slices.Contains(kinds, "true") && slices.Contains(kinds, "false") {
				break
			}
			text, err := g.Sample(random)
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			m, err := r.read(text)
			if err != nil {
				t.Fatalf("%s: %v in %q", f.Name, err, text)
			}
			kinds = append(kinds, fmt.Sprint(len(m.Calls) > 0))
		}
		if !slices.Contains(kinds, "true") || !slices.Contains(kinds, "false") {
			t.Errorf("%s: calls or content do not come", f.Name)
		}
	}
}
