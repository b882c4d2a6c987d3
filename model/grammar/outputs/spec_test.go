package outputs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
)

// formatText is a format as it stands in a spec.
func formatText(t testing.TB, name string) string {
	t.Helper()
	text, err := json.Marshal(format(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestErrorsNameThePlace(t *testing.T) {
	hermes, coder := formatText(t, "hermes"), formatText(t, "qwen3-coder")
	strict := func(format, schema string) string {
		return `{"format":` + format + `,"tools":[{"name":"f"},{"name":"g","strict":true,"parameters":` + schema + `}]}`
	}
	for _, c := range []struct {
		spec   string
		kind   grammar.ErrorKind
		at     string
		reason string
	}{
		{`[]`, grammar.Invalid, "", "JSON object"},
		{`{"format":` + hermes + `,"tool":[]}`, grammar.Invalid, "/tool", "unknown field"},
		{`{"format":{"x":1}}`, grammar.Invalid, "/format", "unknown field"},
		{`{"format":{"id":"x"}}`, grammar.Invalid, "/format", "an id is"},
		{`{"format":` + hermes + `,"tools":[{"name":"f","x":1}]}`, grammar.Invalid, "/tools/0/x", "unknown field"},
		{`{"format":` + hermes + `,"tools":[{"name":""}]}`, grammar.Invalid, "/tools/0/name", "no name"},
		{`{"format":` + hermes + `,"tools":[{"name":"f"},{"name":"f"}]}`, grammar.Invalid, "/tools/1/name", "two tools"},
		{`{"format":` + coder + `,"tools":[{"name":"f"},{"name":"a b"}]}`, grammar.Invalid, "/tools/1/name", "cannot have the name"},
		{`{"format":` + formatText(t, "functionary-v3.2") + `,"tools":[{"name":"all"}]}`, grammar.Invalid, "/tools/0/name", "cannot have the name"},
		{`{"format":` + formatText(t, "harmony") + `,"tools":[{"name":"a to=b"}]}`, grammar.Invalid, "/tools/0/name", "cannot have the name"},
		{`{"format":` + hermes + `,"required":true}`, grammar.Invalid, "/required", "no tool"},
		{`{"format":{"name":"content"},"tools":[{"name":"f"}]}`, grammar.Invalid, "/tools", "no calls"},
		{`{"format":` + hermes + `,"content":{"kind":"json_schema","text":"{\"properties\":{\"x\":{\"type\":\"y\"}}}"}}`, grammar.Unsupported, "/content/properties/x", "type: "},
		{`{"format":` + hermes + `,"content":{"kind":"lark","text":"start: (\n"}}`, grammar.Invalid, "/content, line ", ""},
		{`{"format":` + hermes + `,"content":{"kind":"regex","text":"("}}`, grammar.Invalid, "/content", ""},
		{`{"format":` + hermes + `,"content":{"kind":"x","text":"("}}`, grammar.Unsupported, "/content", "unknown kind"},
		{strict(hermes, `{"properties":{"x":{"format":"regex"}}}`), grammar.Unsupported, "/tools/1/parameters/properties/x", "format: "},
		{strict(coder, `{"properties":{"x":{"format":"regex"}}}`), grammar.Unsupported, "/tools/1/parameters/properties/x", "format: "},
		{strict(coder, `{"properties":{"a>b":{}},"required":["a>b"]}`), grammar.Unsupported, "/tools/1/parameters", "required: the format of the calls cannot write"},
		{strict(hermes, `{"type":"string"}`), grammar.Unsatisfiable, "/tools/1/parameters", "no value"},
		{strict(coder, `{"type":"string"}`), grammar.Unsatisfiable, "/tools/1/parameters", "no value"},
		{strict(formatText(t, "gemma-4"), `{}`), grammar.Unsupported, "/tools/1/strict", "schema"},
		{strict(hermes, `{"allOf":`+strings.Repeat(`[{"anyOf":`, 1100)+`[]`+strings.Repeat(`}]`, 1100)+`}`), grammar.Unsupported, "/tools/1/parameters", ""},
		{`{"format":` + hermes + `,"tools":[{"name":"f","input":{"kind":"lark","text":"start: <|x|>"}}]}`, grammar.Invalid, "/tools/0/input", "<|x|>"},
		{`{"format":` + hermes + `,"tools":[{"name":"f","input":{"kind":"lark","text":"start: %json {}"}}]}`, grammar.Invalid, "/tools/0/input", "%json"},
		{`{"format":` + hermes + `,"tools":[{"name":"f","input":{"kind":"ebnf","text":"x"}}]}`, grammar.Invalid, "/tools/0/input/kind", "the kind of an input"},
	} {
		_, err := grammar.Compile(grammar.Source{Kind: grammar.Output, Text: c.spec}, newVocabulary(t, output.Format{}, false), grammar.Limits{})
		var e *grammar.Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.HasPrefix(e.At, c.at) || c.at == "" && e.At != "" || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%.150s: %#v, want kind %d at %s: %s", c.spec, err, c.kind, c.at, c.reason)
		}
	}
}

func TestKeywordsThatAreLeftOut(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"x":{"type":"string","format":"regex"},"y/z":{"type":"array","uniqueItems":true}}}`)
	want := []grammar.Omission{{At: "/tools/1/parameters/properties/x", Keyword: "format"}, {At: "/tools/1/parameters/properties/y~1z", Keyword: "uniqueItems"}}
	for _, name := range []string{"hermes", "qwen3-coder", "lfm2", "harmony"} {
		f := format(t, name)
		s := outputs.Spec{Format: f, Tools: []outputs.Tool{{Name: "f"}, {Name: "g", Parameters: schema}}}
		if got := compile(t, newVocabulary(t, f, true), s).Omitted(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", name, got)
		}
		s.Tools[1].Strict = true
		_, err := grammar.Compile(sourceOf(t, s), newVocabulary(t, f, true), grammar.Limits{})
		if e, ok := errors.AsType[*grammar.Error](err); !ok || e.Kind != grammar.Unsupported || e.At != want[0].At {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesThatCannotBeWritten(t *testing.T) {
	f := format(t, "qwen3-coder")
	schema := json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"},"a>b":{"type":"string"}},"required":["x","a>b"]}`)
	g := compile(t, newVocabulary(t, f, true), outputs.Spec{Format: f, Required: true, Tools: []outputs.Tool{{Name: "f", Parameters: schema}}})
	if got, want := g.Omitted(), []grammar.Omission{{At: "/tools/0/parameters", Keyword: "required"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("left out: %v", got)
	}
	if ok, _ := accepts(g, "<function=f><parameter=x>1</parameter></function>"); !ok {
		t.Error("the other parameters cannot be written")
	}
}

// TestManyTools checks that a spec with very many tools is compiled, and used, or refused.
func TestManyTools(t *testing.T) {
	for name, fits := range map[string]bool{"kimi-k2": true, "deepseek-v3.2": false} {
		f := format(t, name)
		s := outputs.Spec{Format: f, Required: true}
		for i := range 8_000 {
			s.Tools = append(s.Tools, outputs.Tool{Name: fmt.Sprintf("tool_%d", i)})
		}
		start := time.Now()
		g, err := grammar.Compile(sourceOf(t, s), newVocabulary(t, f, true), grammar.Limits{})
		if e, refused := errors.AsType[*grammar.Error](err); refused {
			if fits || e.Kind != grammar.TooLarge || !strings.HasPrefix(e.At, "/tools/") {
				t.Errorf("%s: %#v", name, e)
			}
			continue
		}
		t.Logf("%s: compiled in %v", name, time.Since(start))
		start = time.Now()
		if text, err := g.Sample(rand.New(rand.NewPCG(1, 2))); err != nil || !fits {
			t.Errorf("%s: fits %v, %v after %q", name, fits, err, text)
		}
		t.Logf("%s: a sample in %v", name, time.Since(start))
	}
}

// TestSchemasShareTheirBound: many schemas take no longer than one may.
func TestSchemasShareTheirBound(t *testing.T) {
	hard := json.RawMessage(`{"properties":{"x":{"allOf":[` + strings.Repeat(`{"oneOf":[{"minLength":1,"maxLength":9},{"pattern":"^a.*b"},{"pattern":"c"}]},`, 12) + `{}]}},"required":["x"]}`)
	f := format(t, "qwen3-coder")
	s := outputs.Spec{Format: f}
	for i := range 300 {
		s.Tools = append(s.Tools, outputs.Tool{Name: fmt.Sprint("f", i), Parameters: hard, Strict: true})
	}
	start := time.Now()
	_, err := grammar.Compile(sourceOf(t, s), newVocabulary(t, f, true), grammar.Limits{})
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v: %v", took, err)
	}
}
