package regex

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pattern draws expressions in the syntax that package regexp shares.
func pattern(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{"a", "b", "c", "ab", "[ab]", "[^a]", ".", "é", `\d`, `\w`, "[a-c]", "^", "$", "", "[é-ñ]"}).Draw(t, "atom")
	}
	sub := func() string { return pattern(t, depth-1) }
	switch rapid.IntRange(0, 7).Draw(t, "shape") {
	case 0:
		return sub() + sub()
	case 1:
		return "(?:" + sub() + "|" + sub() + ")"
	case 2, 3:
		q := rapid.SampledFrom([]string{"*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}", "*?", "+?"}).Draw(t, "quantifier")
		return "(?:" + sub() + ")" + q
	case 4:
		return "(" + sub() + ")" + sub()
	case 5:
		return "(?i:" + sub() + ")"
	default:
		return sub()
	}
}

func text(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "A", "é", "\n", "1", "ñ"}), 0, 7).Draw(t, "text"), "")
}

func TestParseAgreesWithPackageRegexp(t *testing.T) {
	anchored := 0
	rapid.Check(t, func(t *rapid.T) {
		p := pattern(t, rapid.IntRange(1, 4).Draw(t, "depth"))
		search := rapid.Bool().Draw(t, "search")
		twin, err := regexp.Compile(p)
		if err != nil {
			t.Skip(err)
		}
		if !search {
			twin = regexp.MustCompile(`\A(?:` + p + `)\z`)
		}
		s := NewSet(Limits{})
		term, err := s.Parse(p, Options{Search: search})
		if err != nil {
			// Only what is documented may be refused.
			if !strings.Contains(err.Error(), "may not be repeated") && !strings.Contains(err.Error(), "nothing to repeat") {
				t.Fatalf("%q: %v", p, err)
			}
			t.Skip(err)
		}
		if strings.ContainsAny(p, "^$") {
			anchored++
		}
		for range 10 {
			in := text(t)
			if got, want := s.Matches(term, in), twin.MatchString(in); got != want {
				t.Fatalf("%q (search %v) on %q: %v, package regexp says %v", p, search, in, got, want)
			}
		}
		w, ok, err := s.Witness(term)
		if err != nil {
			t.Fatal(err)
		}
		if ok && !twin.MatchString(w) {
			t.Fatalf("%q: witness %q does not match", p, w)
		}
		if empty, err := s.IsEmpty(term); err != nil || empty == ok {
			t.Fatalf("%q: IsEmpty %v, %v; a witness: %v", p, empty, err, ok)
		}
	})
	if anchored == 0 {
		t.Error("no pattern with an anchor was tried")
	}
}

// TestBooleanLaws compares And, Or, Not, Contains, Disjoint and Copy with what
// the twins say about many strings.
func TestBooleanLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSet(Limits{})
		parse := func() Term {
			p := pattern(t, 2)
			term, err := s.Parse(p, Options{})
			if err != nil {
				t.Skip(err)
			}
			return term
		}
		a, b := parse(), parse()
		or, and, not := s.Or(a, b), s.And(a, b), s.Not(a)
		contains, err := s.Contains(a, b)
		if err != nil {
			t.Fatal(err)
		}
		disjoint, err := s.Disjoint(a, b)
		if err != nil {
			t.Fatal(err)
		}
		other := NewSet(Limits{})
		copied, err := other.Copy(s, []Term{or, and, not})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			in := text(t)
			ma, mb := s.Matches(a, in), s.Matches(b, in)
			for i, want := range []bool{ma || mb, ma && mb, !ma} {
				if got := s.Matches([]Term{or, and, not}[i], in); got != want {
					t.Fatalf("law %d on %q: %v, want %v", i, in, got, want)
				}
				if got := other.Matches(copied[i], in); got != want {
					t.Fatalf("copied law %d on %q: %v, want %v", i, in, got, want)
				}
			}
			if contains && mb && !ma {
				t.Fatalf("Contains, but %q is in b alone", in)
			}
			if disjoint && ma && mb {
				t.Fatalf("Disjoint, but %q is in both", in)
			}
		}
		if !contains {
			w, ok, err := s.Witness(s.And(b, s.Not(a)))
			if err != nil || !ok || s.Matches(a, w) || !s.Matches(b, w) {
				t.Fatalf("not Contains, but witness %q, %v, %v", w, ok, err)
			}
		}
	})
}

func TestSyntax(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		o        Options
		yes, no  []string
		refused  string
		position int
	}{
		{pattern: `\u00e9\x41\u{1F600}`, yes: []string{"éA😀"}, no: []string{"e"}},
		{pattern: `\ud83d\ude00`, yes: []string{"😀"}},
		{pattern: `\p{Lu}\p{Script=Greek}\P{L}`, yes: []string{"Aω1", "Éα "}, no: []string{"aω1", "AA1"}},
		{pattern: `(?=.*\d)(?=.*[a-z]).{3,}`, yes: []string{"a1b", "12a"}, no: []string{"abc", "a1", "123"}},
		{pattern: `^(?!foo$).*$`, o: Options{Search: true}, yes: []string{"", "fo", "fooo"}, no: []string{"foo"}},
		{pattern: `a(?=b)`, o: Options{Search: true}, yes: []string{"xab"}, no: []string{"xa", "ac"}},
		{pattern: `^a|b$`, o: Options{Search: true}, yes: []string{"a", "ax", "xb", "b"}, no: []string{"", "xa", "bx"}},
		{pattern: `[]a]+`, yes: []string{"]a]"}},
		{pattern: `[]`, o: Options{ECMA: true}, no: []string{"", "a"}},
		{pattern: `[^]`, o: Options{ECMA: true}, yes: []string{"a", "\n"}},
		{pattern: `.`, o: Options{ECMA: true}, no: []string{"\r", "\u2028"}, yes: []string{"é"}},
		{pattern: `.`, yes: []string{"\r"}, no: []string{"\n", "\xff"}},
		{pattern: `a{`, yes: []string{"a{"}},
		{pattern: `x{1,2}{`, yes: []string{"x{", "xx{"}},
		{pattern: `(?i)straße`, yes: []string{"STRAßE", "straẞe"}},
		{pattern: `(?i:a)b`, yes: []string{"Ab"}, no: []string{"AB"}},
		{pattern: `a # x` + "\n b", o: Options{Extended: true}, yes: []string{"ab"}},
		{pattern: `(?P<n>a)(?<m>b)`, yes: []string{"ab"}},
		{pattern: `[\w-]+[a\-z]`, yes: []string{"x-z", "--"}},
		{pattern: `a\b`, refused: "word boundaries", position: 1},
		{pattern: `(a)\1`, refused: "back references", position: 3},
		{pattern: `x(?<=a)b`, refused: "look-behind", position: 1},
		{pattern: `a**`, refused: "nothing to repeat", position: 2},
		{pattern: `(`, refused: "not closed"},
		{pattern: `a)`, refused: "unmatched", position: 1},
		{pattern: `[b-a]`, refused: "out of order", position: 1},
		{pattern: `a{3,2}`, refused: "out of order", position: 1},
		{pattern: `(a{1,1000}){1,1000}`, refused: "too large"},
		{pattern: strings.Repeat("(", 300), refused: "deeper"},
		{pattern: `\p{Klingon}`, refused: "unknown Unicode property"},
		{pattern: `(?m)^a`, refused: "flag m", position: 2},
	} {
		s := NewSet(Limits{})
		term, err := s.Parse(c.pattern, c.o)
		var syntax *SyntaxError
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%q: %v", c.pattern, err)
		case c.refused != "" && (!errors.As(err, &syntax) || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%q: error %v, want %q", c.pattern, err, c.refused)
		case c.refused != "" && c.position != 0 && syntax.At != c.position:
			t.Errorf("%q: refused at byte %d, want %d", c.pattern, syntax.At, c.position)
		}
		if err != nil {
			continue
		}
		for _, in := range c.yes {
			if !s.Matches(term, in) {
				t.Errorf("%q does not match %q", c.pattern, in)
			}
		}
		for _, in := range c.no {
			if s.Matches(term, in) {
				t.Errorf("%q matches %q", c.pattern, in)
			}
		}
	}
}

// TestLimits: a set that is full says so, and what would be exponential ends.
func TestLimits(t *testing.T) {
	s := NewSet(Limits{Terms: 2000})
	term, err := s.Parse(`(a|b)*a(a|b){100}`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := 0, uint32(1); i < 10_000; i++ {
		x = x*1664525 + 1013904223
		if term = s.Derivative(term, "ab"[x>>31]); s.Err() != nil {
			break
		}
	}
	if !errors.Is(s.Err(), ErrLimit) {
		t.Errorf("a hundred interleaved counters fit into %d terms", s.Len())
	}
	if s.Or(Empty, Anything) != Nothing {
		t.Error("a set that is full still makes terms")
	}
}

// TestOptionalChains: a derivative that is quadratic ends, and in a moment.
func TestOptionalChains(t *testing.T) {
	s := NewSet(Limits{})
	term, err := s.Parse(strings.Repeat("a?b?", 20_000), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Derivative(term, 'a'); !errors.Is(s.Err(), ErrLimit) {
		t.Error("forty thousand optional parts have a derivative")
	}
}

// TestCountersStaySmall: the derivatives of a counted repetition are few,
// whatever the count.
func TestCountersStaySmall(t *testing.T) {
	s := NewSet(Limits{})
	term, err := s.Parse(`(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-f]{4}){3,60000}`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := s.Len()
	for range 1000 {
		term = s.Derivative(term, 'a')
	}
	if grown := s.Len() - before; grown > 5000 {
		t.Errorf("1000 bytes made %d terms", grown)
	}
}

func TestFinite(t *testing.T) {
	s := NewSet(Limits{})
	term, _ := s.Parse(`a(b|c)?|xyz`, Options{})
	texts, ok, err := s.Finite(term, 10)
	if want := "a ab ac xyz"; !ok || err != nil || strings.Join(texts, " ") != want {
		t.Errorf("got %q, %v, %v, want %s", texts, ok, err, want)
	}
	before := s.Len()
	search, _ := s.Parse("foo", Options{Search: true})
	if _, ok, err := s.Finite(search, 10); ok || err != nil || s.Len() > before+100 {
		t.Errorf("a loop before the first string: finite %v, %v, %d terms", ok, err, s.Len()-before)
	}
	if texts, ok, _ := s.Finite(s.Repeat(term, 0, Unbounded), 10); ok || texts != nil {
		t.Errorf("an infinite language has %q", texts)
	}
}

func FuzzParse(f *testing.F) {
	for _, p := range []string{`a|b*`, `[^\]a-z&&b]`, `(?i)\p{L}{2,}?`, `(?!a(?=b))^$`, `\ud800`, `(?P<a>.){3}`, `[[:alpha:]]`, `[[:]`, `\cA\0\e`} {
		f.Add(p, true)
	}
	f.Fuzz(func(t *testing.T, p string, search bool) {
		s := NewSet(Limits{Terms: 20_000})
		term, err := s.Parse(p, Options{Search: search})
		var syntax *SyntaxError
		if errors.As(err, &syntax) && (syntax.At < 0 || syntax.At > len(p)) {
			t.Fatalf("refused at byte %d of %d", syntax.At, len(p))
		}
		if err != nil {
			return
		}
		if w, ok, err := s.Witness(term); err == nil && ok && !s.Matches(term, w) {
			t.Fatalf("witness %q does not match", w)
		}
	})
}
