package chat

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/model/chat/jinja"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// goldenNow is the instant at which the goldens were made.
var goldenNow = time.Date(2024, 7, 26, 12, 0, 0, 0, time.UTC)

// conversations reads cases.json: name → variables.
func conversations(t *testing.T, dir string) (names []string, inputs map[string]Input) {
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	inputs = map[string]Input{}
	for _, c := range v.(*jinja.List).Items() {
		in := Input{BOS: "<BOS>", EOS: "<EOS>", Now: goldenNow, Extra: map[string]any{}}
		name := ""
		for k, v := range c.(*jinja.Dict).All() {
			switch k {
			case "name":
				name = v.(string)
			case "messages":
				in.Messages = v
			case "tools":
				in.Tools = v
			case "add_generation_prompt":
				in.AddGenerationPrompt = v.(bool)
			default:
				in.Extra[k] = v
			}
		}
		names = append(names, name)
		inputs[name] = in
	}
	return names, inputs
}

func readTemplate(t *testing.T, dir, name string) *Template {
	src, err := os.ReadFile(filepath.Join(dir, "templates", name+".jinja"))
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := Parse(name, string(src))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return tmpl
}

// TestGoldens compares every golden prompt and error. Rows on which another
// renderer disagrees with Python are counted, not required.
func TestConformanceGoldens(t *testing.T) {
	dir := conformance.Path(t, "chat_templates")
	_, inputs := conversations(t, dir)
	type golden struct {
		Template, Case string
		Prompt, Error  *string
		JSAgrees       bool `json:"js_agrees"`
	}
	templates := map[string]*Template{}
	var good, total, restGood, rest int
	for _, g := range conformance.Lines[golden](t, filepath.Join(dir, "golden.jsonl")) {
		tmpl := templates[g.Template]
		if tmpl == nil {
			tmpl = readTemplate(t, dir, g.Template)
			templates[g.Template] = tmpl
		}
		got, err := tmpl.Render(context.Background(), inputs[g.Case])
		ok := (err != nil) == (g.Error != nil) && (err != nil || got == *g.Prompt)
		if g.JSAgrees {
			total++
		} else {
			rest++
		}
		switch {
		case ok && g.JSAgrees:
			good++
		case ok:
			restGood++
		default:
			report := t.Logf
			if g.JSAgrees {
				report = t.Errorf
			}
			if g.Error != nil {
				report("%s, %s:\n got %q\nwant error %s", g.Template, g.Case, got, *g.Error)
			} else {
				report("%s, %s:\n got %q %v\nwant %q", g.Template, g.Case, got, err, *g.Prompt)
			}
		}
		// A template's own refusal must carry its message.
		if g.Error != nil && err != nil {
			if msg, ok := strings.CutPrefix(*g.Error, "TemplateError: "); ok {
				var raised *RaisedError
				if !errors.As(err, &raised) || raised.Message != msg {
					t.Errorf("%s, %s: error %v, want raised %q", g.Template, g.Case, err, msg)
				}
			}
		}
	}
	t.Logf("agreed rows: %d of %d; the rest: %d of %d", good, total, restGood, rest)
	if total == 0 {
		t.Error("no golden was read")
	}
}

// TestAllTemplates renders every template, golden or not: whatever fails must
// be the template's or the data's doing, never a gap of the interpreter.
func TestConformanceAllTemplates(t *testing.T) {
	dir := conformance.Path(t, "chat_templates")
	names, inputs := conversations(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "templates", "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".jinja")
		tmpl := readTemplate(t, dir, name)
		rendered := 0
		for _, c := range names {
			_, err := tmpl.Render(context.Background(), inputs[c])
			if err == nil {
				rendered++
				continue
			}
			var e *Error
			if !errors.As(err, &e) || e.Kind == jinja.RuntimeError && e.Err == nil || e.Kind == jinja.LimitError {
				t.Errorf("%s, %s: %v", name, c, err)
			}
		}
		t.Logf("%s: %d of %d conversations rendered", name, rendered, len(names))
	}
}
