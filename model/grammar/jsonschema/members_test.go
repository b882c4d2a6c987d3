package jsonschema

import (
	"errors"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// matches reports whether a text is one of what build adds.
func matches(t *testing.T, build func(*cfg.Builder) cfg.Symbol, text string) bool {
	t.Helper()
	b := cfg.New(regex.NewSet(regex.Limits{}), cfg.Limits{})
	g, err := b.Build(build(b))
	if err != nil {
		t.Fatal(err)
	}
	a, err := earley.New(g, earley.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	at := a.Start()
	for i := range len(text) {
		if at, err = a.Next(at, text[i]); at == nil || err != nil {
			return false
		}
	}
	return at.CanEnd()
}

func TestOptionsOfValues(t *testing.T) {
	for _, c := range []struct {
		schema  string
		options Options
		yes, no []string
	}{
		{`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":["object","string"]}}}`, Options{Objects: true}, []string{`{"a":"x"}`, `{}`}, []string{`"x"`, `[]`, `1`}},
		{`true`, Options{Objects: true}, []string{`{"a":1}`}, []string{`"x"`}},
		{`{"items":{"type":["boolean","null","string"]},"type":"array"}`, Options{Python: true}, []string{`[True, None, false]`, `["a\"\u00e9\n"]`}, []string{`["\/"]`, `[TRUE]`}},
		{`{"type":["string","object"]}`, Options{Without: "</p>"}, []string{`"<\/p>"`, `{"</p":"<"}`, `"a"`}, []string{`"</p>"`, `{"</p>":1}`, `{"a":"x</p>"}`}},
	} {
		build := func(b *cfg.Builder) cfg.Symbol {
			s, _, err := Compile(b, []byte(c.schema), c.options)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		for _, text := range c.yes {
			if !matches(t, build, text) {
				t.Errorf("%s, %+v refuses %s", c.schema, c.options, text)
			}
		}
		for _, text := range c.no {
			if matches(t, build, text) {
				t.Errorf("%s, %+v allows %s", c.schema, c.options, text)
			}
		}
	}
}

func TestMembers(t *testing.T) {
	const schema = `{"type":["object","string"],"properties":{"a":{"type":"string","pattern":"^\"x+$"},"b":{"type":["integer","array"],"items":{"type":"string"}},"c":{}},"required":["a"],"additionalProperties":{"type":"boolean"}}`
	none := true
	build := func(b *cfg.Builder) cfg.Symbol {
		write := func(m Member) []cfg.Symbol {
			if m.Name == "c" {
				return nil
			}
			list := []cfg.Symbol{b.Terminal(m.Text)}
			if m.HasOther {
				list = append(list, m.Other())
			}
			return []cfg.Symbol{b.Terminal(m.Names), b.Literal("="), b.Choice(list...)}
		}
		s, n, _, err := CompileMembers(b, []byte(schema), Members{b.Literal(";"), write}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		none = n
		return s
	}
	for text, want := range map[string]bool{`a="x`: true, `b=["q"];a="xx;b2=true`: true, `a="x;b=7`: true, ``: false, `b=1`: false, `a=x`: false, `a="x;a="x`: false, `a="x;c=1`: false, `a="x;d=1`: false} {
		if matches(t, build, text) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
	if none {
		t.Error("no member at all is allowed")
	}
	b := cfg.New(regex.NewSet(regex.Limits{}), cfg.Limits{})
	_, _, _, err := CompileMembers(b, []byte(`{"required":["c"]}`), Members{b.Literal(";"), func(Member) []cfg.Symbol { return nil }}, Options{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Keyword != "required" {
		t.Error(err)
	}
}
