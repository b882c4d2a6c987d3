package jinja

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"unicode/utf8"
)

// semanticSources are the templates of the semantics table, as seeds.
func semanticSources(f *testing.F) (sources []string) {
	data, err := os.ReadFile("testdata/semantics.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range bytes.Split(bytes.TrimSpace(data), []byte("\n"))[1:] {
		var row struct{ Src string }
		if err := json.Unmarshal(l, &row); err != nil {
			f.Fatal(err)
		}
		sources = append(sources, row.Src)
	}
	return sources
}

// FuzzParse: any source parses or returns an error with its place.
func FuzzParse(f *testing.F) {
	for _, s := range semanticSources(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		_, err := Parse("fuzz", src)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Template != "fuzz") {
			t.Errorf("error without a place: %v", err)
		}
	})
}

var fuzzLimits = Limits{OutputBytes: 1 << 16, Steps: 1 << 16, Depth: 200}

// FuzzRender: any template on any JSON renders within its limits, twice the
// same, or returns an Error.
func FuzzRender(f *testing.F) {
	for _, s := range semanticSources(f) {
		f.Add(s, []byte(`{"s":"Hello","n":7,"l":[3,1,2],"d":{"z":1,"a":[null,true,1.5]}}`))
	}
	f.Fuzz(func(t *testing.T, src string, data []byte) {
		tmpl, err := Parse("fuzz", src)
		if err != nil {
			return
		}
		v, err := DecodeJSON(data)
		if err != nil {
			return
		}
		vars := map[string]any{"s": "x", "n": 1}
		if d, ok := v.(*Dict); ok {
			for k, v := range d.All() {
				vars[k] = v
			}
		}
		out, err := tmpl.Render(context.Background(), fuzzLimits, vars)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("untyped error %v", err)
			}
		}
		if len(out) > fuzzLimits.OutputBytes || !utf8.ValidString(out) {
			t.Fatalf("%d bytes, UTF-8 %v", len(out), utf8.ValidString(out))
		}
		again, _ := tmpl.Render(context.Background(), fuzzLimits, vars)
		if again != out {
			t.Fatalf("two renderings differ:\n%q\n%q", out, again)
		}
		followed, err := tmpl.RenderMarked(context.Background(), fuzzLimits, nil, vars, []rune("<>{|%"))
		var e *Error
		if err != nil && !errors.As(err, &e) || !utf8.ValidString(followed.Text) || len(followed.Text) > fuzzLimits.OutputBytes {
			t.Fatalf("followed: %d bytes, error %v", len(followed.Text), err)
		}
	})
}

// FuzzDecodeJSON: accepts UTF-8 that encoding/json accepts, and what tojson writes
// of it decodes to the same text again.
func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[1.0,2e3,-0,"x\u0041\ud83d\ude00\ud800"],"b":null}`, `[]`, `{}`, ` true `, `12345678901234567890`, `1e999`, `"\q"`, `[1,]`} {
		f.Add([]byte(s))
	}
	tmpl, err := Parse("t", "{{ v | tojson }}")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := DecodeJSON(data)
		if err != nil {
			if json.Valid(data) && utf8.Valid(data) && len(data) < maxJSONDepth {
				t.Fatalf("valid JSON refused: %v", err)
			}
			return
		}
		one, err := tmpl.Render(context.Background(), Limits{}, map[string]any{"v": v})
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(one)) {
			return // infinity: Python's JSON, not JSON's
		}
		w, err := DecodeJSON([]byte(one))
		if err != nil {
			t.Fatal(err)
		}
		two, err := tmpl.Render(context.Background(), Limits{}, map[string]any{"v": w})
		if err != nil || one != two {
			t.Fatalf("%q, then %q, %v", one, two, err)
		}
	})
}
