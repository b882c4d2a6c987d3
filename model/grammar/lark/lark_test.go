package lark_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/lark"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

func compile(source string) (*earley.Automaton, error) {
	b := cfg.New(regex.NewSet(regex.Limits{Terms: 100_000}), cfg.Limits{Symbols: 50_000})
	start, err := lark.Compile(b, source, lark.Options{
		Token: func(name string) (int32, bool) { return 7, name == "<|tool|>" },
		JSON: func(schema []byte) (cfg.Symbol, error) {
			if string(schema) != "true" {
				return 0, errors.New("only true")
			}
			return b.Literal("{}"), nil
		},
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

// accepts follows text; the byte 7 stands for the token <|tool|>.
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

func TestDialect(t *testing.T) {
	for _, c := range []struct {
		source  string
		yes, no []string
	}{
		{"start: a (\",\" a)* -> list\n     | \"none\" // comment\na: NAME | \"(\" a \")\"\nNAME: /[a-z]+/ & ~\"bob\"", []string{"x", "none", "(x),y"}, []string{"", "bob", "(x"}},
		{"start: \"a\"~2..3 [\"b\"] (\"c\" | \"d\"){2}", []string{"aacd", "aaabdd"}, []string{"acd", "aac"}},
		{"start: \"A\"i \"b\"..\"d\" \"\\x21\\u00e9\"", []string{"ab!é", "Ad!é"}, []string{"Ae!é"}},
		{"%import common (INT, WS)\n%import common.CNAME -> ID\n%ignore WS\nstart: ID \"=\" INT", []string{"a=1", "a = 1 ", "a\n=1"}, []string{" a=1", "a="}},
		{"start: text <|tool|> %json true\ntext: /.*/", []string{"hi\a{}"}, []string{"hi{}", "hi\a"}},
		{"start: %lark { start: \"a\" b\nb: \"}\" } \"c\"", []string{"a}c"}, []string{"ac"}},
		{"start: %regex {\"substring_words\": \"the quick fox\"}", []string{"", "the ", "quick fox"}, []string{"qui", "the fox"}},
		{"start: head \"!\"\nhead[lazy]: TEXT \"END\"\nTEXT: /.*/", []string{"END!", "aEND!"}, []string{"ENDEND!"}},
		{"start: (call)* tail\ntail: TEXT\nhead[lazy]: TEXT \"<c>\"\ncall: head /[0-9]/\nTEXT: /(.|\\n)*/", []string{"text", "a<c>1b", "<c>1<c>2"}, []string{"<c>", "a<c>x"}},
		{"start: r \"c\"\nr[suffix=\"b\"]: /[a-z]*/", []string{"xbc"}, []string{"xbbc"}},
		{"start: p::0\np::_: \"X\" %if is_ones([0:2])\n   | \"a\" p::set_bit(0) %if bit_clear(0)\n   | \"b\" p::set_bit(1) %if bit_clear(1)", []string{"abX", "baX"}, []string{"aX", "aaX", "X"}},
		{"start: p::3\np::_: \"a\" p::decr(_) %if gt(_, 0)\n   | \"\" %if eq(_, 0)", []string{"aaa"}, []string{"aa", "aaaa"}},
		{"start: | \"x\" start", []string{"", "xxx"}, []string{"y"}},
	} {
		a, err := compile(c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		for _, in := range c.yes {
			if !accepts(t, a, in) {
				t.Errorf("%s\ndoes not accept %q", c.source, in)
			}
		}
		for _, in := range c.no {
			if accepts(t, a, in) {
				t.Errorf("%s\naccepts %q", c.source, in)
			}
		}
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	for source, want := range map[string]string{
		"start: missing":                   `line 1, column 8: unknown name "missing"`,
		"start: \"a\"\nstart: \"b\"":       "line 2, column 1",
		"x: \"a\"":                         `no rule "start"`,
		"start: /[/":                       "not closed",
		"start: /a/m":                      "flag m",
		"start: \"a\" & \"b\"":             "column 12: & is for terminals",
		"start: A\nA: b\nb: \"x\"":         "cannot be used in a terminal",
		"start: x\nx[max_tokens=3]: \"a\"": `"max_tokens" is not supported`,
		"start: x\nx[lazy]: y\ny: \"a\"":   "terminals only",
		"start.2: \"a\"":                   "priorities",
		"%override start":                  "not supported",
		"%import python.NAME":              "only the library common",
		"start: \"a\"{3,2}":                "out of order",
		"start: <|what|>":                  "no special token",
		"start: %json {":                   "not JSON",
		"start: " + strings.Repeat("(", 1000) + "\"a\"": "deeper",
		"start: p::0\np::_: \"a\" p::incr(_)":           "more than 5000 values",
		"start: %lark { start: \"a\" ":                  "not closed",
	} {
		_, err := compile(source)
		var e *cfg.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", source, err, want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		"start: a (\",\" a)* -> list\na[lazy, capture=\"x\"]: /x/i \"b\"..\"c\"", "%import common (INT, WS)\n%ignore WS\nstart: INT~2..3 [\"b\"]{,2}",
		"start: %lark { start: \"}\" } %regex {\"substring_chars\": \"ab\"} <|tool|>", "start: p::0x1\np::_: \"a\" p::set_bit(1) %if and(lt(_, 3), not(bit_clear([0:2])))",
		"A: ~\"a\" & /b/\nstart: A", "A:0~",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		a, err := compile(source)
		if (err == nil) == (a == nil) {
			t.Fatalf("%v, %v", a, err)
		}
	})
}
