package jinja

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
)

// Render is RenderMarked without a client.
func (t *Template) Render(ctx context.Context, lim Limits, vars map[string]any) (string, error) {
	r, err := t.RenderMarked(ctx, lim, vars, nil, nil)
	return r.Text, err
}

// semantics reads the table of small templates: the variables, and a row each.
func semantics(t *testing.T) (vars map[string]any, rows [][]byte) {
	t.Helper()
	data, err := os.ReadFile("testdata/semantics.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	vars = map[string]any{}
	for k, v := range decodeDict(t, lines[0]).field("vars").(*Dict).All() {
		vars[k] = v
	}
	return vars, lines[1:]
}

// TestSemantics compares small templates for every feature with what Python's
// jinja2 makes of them (testdata/generate.py): the same text, or the same kind
// of error.
func TestSemantics(t *testing.T) {
	vars, rows := semantics(t)
	for _, l := range rows {
		row := decodeDict(t, l)
		src := row.field("src").(string)
		got, err := render(src, vars)
		want, ok := row.Get("out")
		if ok {
			if err != nil || got != want {
				t.Errorf("%s: %q\n got %q, %v\nwant %q", row.field("topic"), src, got, err, want)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Kind != kindInPython(row.field("error").(string)) {
			t.Errorf("%s: %q\n got %q, %v\nwant error %s", row.field("topic"), src, got, err, row.field("error"))
		}
	}
}

// kindInPython maps Python's kinds of failure that are one here.
func kindInPython(name string) string {
	if name == "TemplateAssertionError" {
		return SyntaxError // an unknown filter or test
	}
	return name
}

func render(src string, vars map[string]any) (string, error) {
	tmpl, err := Parse("test", src)
	if err != nil {
		return "", err
	}
	return tmpl.Render(context.Background(), Limits{}, vars)
}

func decodeDict(t *testing.T, data []byte) dictRow {
	v, err := DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return dictRow{v.(*Dict)}
}

type dictRow struct{ *Dict }

func (r dictRow) field(name string) any {
	v, _ := r.Get(name)
	return v
}
