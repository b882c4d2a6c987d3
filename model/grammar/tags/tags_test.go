package tags_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/tags"
)

func compile(source string) (*earley.Automaton, error) {
	b := cfg.New(regex.NewSet(regex.Limits{Terms: 100_000}), cfg.Limits{Symbols: 50_000})
	start, err := tags.Compile(b, []byte(source), tags.Options{
		Token:   func(name string) (int32, bool) { return 7, name == "<|tool|>" },
		JSON:    func([]byte) (cfg.Symbol, error) { return b.Literal("{}"), nil },
		Grammar: func(text string) (cfg.Symbol, error) { return b.Literal(text), nil },
	})
	if err != nil {
		return nil, err
	}
	g, err := b.Build(start)
	if err != nil {
		return nil, err
	}
	return earley.New(g, earley.Limits{Bytes: 8 << 20})
}

func accepts(t testing.TB, a *earley.Automaton, text string) bool {
	c := a.Start()
	for i := range len(text) {
		var err error
		if text[i] == 7 {
			c, err = a.NextToken(c, 7)
		} else {
			c, err = a.Next(c, text[i])
		}
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			return false
		}
	}
	return c.CanEnd()
}

const calls = `"triggers":["<f="],"tags":[{"begin":"<f=a>","content":{"type":"json_schema","json_schema":{}},"end":"</f>"},{"begin":"<f=b>","content":{"type":"const_string","value":"B"},"end":"</f>"}]`

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		format  string
		yes, no []string
	}{
		{`{"type":"triggered_tags",` + calls + `}`, []string{"", "text", "x<f=a>{}</f>y<f=b>B</f>", "<f"}, []string{"<f=", "<f=c>", "<f=a>B</f>", "<f=b>B</f><f="}},
		{`{"type":"triggered_tags",` + calls + `,"at_least_one":true}`, []string{"<f=a>{}</f>", "<f=a>{}</f>and<f=b>B</f>"}, []string{"", "x<f=a>{}</f>"}},
		{`{"type":"triggered_tags",` + calls + `,"stop_after_first":true}`, []string{"", "x", "x<f=a>{}</f>"}, []string{"<f=a>{}</f>x"}},
		{`{"type":"triggered_tags",` + calls + `,"at_least_one":true,"stop_after_first":true}`, []string{"<f=a>{}</f>"}, []string{"", "x", "x<f=a>{}</f>", "<f=a>{}</f>x"}},
		{`{"type":"tag","begin":"<t>","content":{"type":"any_text"},"end":"</t>"}`, []string{"<t></t>", "<t>a<</t>"}, []string{"<t>", "<t></t></t>"}},
		{`{"type":"tag","begin":"(","content":{"type":"any_text"},"end":["aa","b"]}`, []string{"(xaa", "(axb"}, []string{"(aaa", "(ab b"}},
		{`{"type":"tag","begin":"(","content":{"type":"triggered_tags",` + calls + `},"end":")"}`, []string{"()", "(x<f=a>{}</f>y)"}, []string{"())", "(<f=)"}},
		{`{"type":"tags_with_separator","separator":",","tags":[{"begin":"a","content":{"type":"regex","pattern":"[0-9]+"},"end":";"}]}`, []string{"", "a1;", "a1;,a22;"}, []string{"a1;a2;", ",", "a1;,"}},
		{`{"type":"sequence","elements":[{"type":"repeat","min":1,"max":2,"content":{"type":"const_string","value":"x"}},{"type":"optional","content":{"type":"token","token":"<|tool|>"}},{"type":"grammar","grammar":"G"}]}`, []string{"xG", "xx\aG"}, []string{"G", "xxxG"}},
		{`{"type":"or","elements":[{"type":"plus","content":{"type":"const_string","value":"p"}},{"type":"star","content":{"type":"const_string","value":"s"}}]}`, []string{"", "pp", "ss"}, []string{"ps"}},
		{`{"type":"dispatch","rules":[["go",{"type":"const_string","value":"!"}]],"loop":false}`, []string{"", "a", "ago!"}, []string{"go", "go!a"}},
		{`{"type":"any_text","excludes":["no","never"]}`, []string{"", "n", "yes"}, []string{"no", "a never b"}},
	} {
		a, err := compile(`{"type":"structural_tag","format":` + c.format + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.format, err)
			continue
		}
		for _, in := range c.yes {
			if !accepts(t, a, in) {
				t.Errorf("%s\ndoes not accept %q", c.format, in)
			}
		}
		for _, in := range c.no {
			if accepts(t, a, in) {
				t.Errorf("%s\naccepts %q", c.format, in)
			}
		}
	}
}

func TestStructures(t *testing.T) {
	a, err := compile(`{"type":"structural_tag","triggers":["<f"],"structures":[{"begin":"<f=a>","schema":{},"end":"</f>"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if !accepts(t, a, "x<f=a>{}</f>y") || accepts(t, a, "<f=b>") {
		t.Error("the older form does not mean the same")
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	for source, want := range map[string]string{
		`[]`:                                   "expected a JSON object",
		`{"format":{"type":"any"}}`:            `/format/type: the format "any" is not supported`,
		`{"format":{"type":"any_text","x":1}}`: "/format/x: unknown field",
		`{"format":{"type":"sequence","elements":[{"type":"const_string"}]}}`:                                                  "/format/elements/0/value: this field is missing",
		`{"format":{"type":"repeat","min":2,"max":1,"content":{"type":"any_text"}}}`:                                           "/format/max: max is below min",
		`{"format":{"type":"regex","pattern":"("}}`:                                                                            "/format/pattern",
		`{"format":{"type":"token","token":"<who>"}}`:                                                                          "no special token",
		`{"format":{"type":"triggered_tags","triggers":["x"],"tags":[{"begin":"a","content":{"type":"any_text"},"end":"b"}]}}`: "no tag begins with",
		`{"format":` + strings.Repeat(`{"type":"star","content":`, 300) + `1` + strings.Repeat("}", 301):                       "deeper",
	} {
		_, err := compile(source)
		var e *cfg.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", source, err, want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`{"type":"structural_tag","format":{"type":"triggered_tags",` + calls + `}}`)
	f.Add(`{"triggers":["<f"],"structures":[{"begin":"<f=a>","schema":{},"end":"</f>"}]}`)
	f.Add(`{"format":{"type":"sequence","elements":[{"type":"repeat","min":1,"max":2,"content":{"type":"regex","pattern":"a+"}}]}}`)
	f.Fuzz(func(t *testing.T, source string) {
		a, err := compile(source)
		if (err == nil) == (a == nil) {
			t.Fatalf("%v, %v", a, err)
		}
	})
}
