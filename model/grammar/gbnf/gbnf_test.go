package gbnf_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/gbnf"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

func compile(source string, o gbnf.Options) (*earley.Automaton, error) {
	o.Root = "root"
	o.Token = func(name string) (int32, bool) { return 7, name == "<think>" }
	o.Special = func(id int32) bool { return id == 7 }
	b := cfg.New(regex.NewSet(regex.Limits{Terms: 100_000}), cfg.Limits{Symbols: 50_000})
	start, err := gbnf.Compile(b, source, o)
	if err != nil {
		return nil, err
	}
	g, err := b.Build(start)
	if err != nil {
		return nil, err
	}
	return earley.New(g, earley.Limits{Bytes: 8 << 20})
}

// accepts follows text; the byte 7 stands for the token <think>.
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

func TestNotation(t *testing.T) {
	for _, c := range []struct {
		source  string
		yes, no []string
	}{
		{"root ::= \"a\" b # comment\nb ::= [x-z]{2} |\n  'q'", []string{"axy", "aq"}, []string{"ax", "a", "axyz"}},
		{`root ::= ("a" "b"?)+ [^\]\-]`, []string{"ab!", "aaa"}, []string{"ab]", "ab-", "b"}},
		{`root ::= "\x41\u00e9\U0001F600\n\"" . `, []string{"Aé😀\n\"日"}, []string{"A"}},
		{`root ::= item{2,3} | item{,1} "!"` + "\nitem ::= \"(\" item \")\" | \"x\"", []string{"xx", "x(x)x", "!", "((x))!"}, []string{"x", "xxxx", "xx!"}},
		{`root ::= "a"{0,2} "b"{3}`, []string{"bbb", "aabbb"}, []string{"aaabbb", "abb"}},
		{`root ::= <think> "a"* <[7]>`, []string{"\aaa\a", "\a\a"}, []string{"aa", "\aaa"}},
		{`root ::= r ">"` + "\n" + `r[lazy] ::= [a-z]+`, []string{"a>"}, []string{"ab>", ">"}},
		{`root ::= Regex("[0-9]+", flags="i") Substring("ab", "cd")`, []string{"12", "1ab", "1abcd"}, []string{"ab", "1b"}},
		{"root ::= TagDispatch((\"<f>\", call), excludes=(\"bad\"))\ncall ::= [0-9]+ \"</f>\"", []string{"", "free", "x<f>1</f>y<f>22</f>", "<f"}, []string{"<f>", "<f>x</f>", "a bad word", "<f>1</f><f>"}},
		{"root ::= TagDispatch((\"<f>\", call), loop_after_dispatch=false)\ncall ::= [0-9]", []string{"", "a<f>1"}, []string{"a<f>1b", "<f>"}},
		{`root ::= a (= "x")` + "\na ::= \"y\"", []string{"y"}, []string{"yx"}},
	} {
		a, err := compile(c.source, gbnf.Options{})
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
		"root ::= \"a\n":                         "line 1, column 10: the string is not closed",
		"root ::= \"a\"\nb ::= [z-a]":            "line 2, column 8: the ends",
		"root ::= \"a\" |":                       "column 15: an alternative is empty",
		"root ::= x":                             `column 10: unknown name "x"`,
		"root ::= \"a\"\nroot ::= \"b\"":         "line 2, column 1",
		"a ::= \"a\"":                            `no rule "root"`,
		"root ::= \"a\"{3,2}":                    "out of order",
		"root ::= \"a\"++":                       "two quantifiers",
		"root ::= \"\\q\"":                       "unknown escape",
		"root ::= <who>":                         "no special token <who>",
		"root ::= <[8]>":                         "no special token <[8]>",
		"root ::= " + strings.Repeat("(", 1000):  "deeper",
		"root ::= Regex(\"(\")":                  "not closed",
		"root ::= TagDispatch((\"\", root))":     "word is empty",
		"root ::= TagDispatch((\"a\", missing))": "unknown name",
		"root ::= (\"a\"{1,1000}){1,1000}":       "too large",
	} {
		_, err := compile(source, gbnf.Options{})
		var e *cfg.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", source, err, want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		"root ::= \"a\" b # c\nb ::= [^x-z\\]]{2,} | root?", "root ::= TagDispatch((\"a\", root), loop_after_dispatch=true)",
		"root ::= Regex(\"a+\", flags=\"i\", json_string=true)", "root[lazy] ::= <think> . (= \"x\")", "root ::= Substring(\"a\", 'b')",
	} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, source string, empty bool) {
		a, err := compile(source, gbnf.Options{EmptyAlternatives: empty})
		if (err == nil) == (a == nil) {
			t.Fatalf("%v, %v", a, err)
		}
	})
}
