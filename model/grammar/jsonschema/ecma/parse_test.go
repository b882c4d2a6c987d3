package ecma_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/jsonschema/ecma"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

func span(lo, hi rune) regex.RuneRange { return regex.RuneRange{Lo: lo, Hi: hi} }

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    []regex.RuneRange
	}{
		{`a`, []regex.RuneRange{span('a', 'a')}},
		{`[c-ea]`, []regex.RuneRange{span('a', 'a'), span('c', 'e')}},
		{`[a-]`, []regex.RuneRange{span('-', '-'), span('a', 'a')}},
		{`[\d-x]`, []regex.RuneRange{span('-', '-'), span('0', '9'), span('x', 'x')}},
		{`[^\u{1}-\u{10ffff}]`, []regex.RuneRange{span(0, 0)}},
		{`\ud83d\ude00`, []regex.RuneRange{span(0x1f600, 0x1f600)}},
		{`\cJ`, []regex.RuneRange{span('\n', '\n')}},
		{`[\b]`, []regex.RuneRange{span('\b', '\b')}},
		{`\x41`, []regex.RuneRange{span('A', 'A')}},
		{`\p{ASCII}`, []regex.RuneRange{span(0, 0x7f)}},
		{`\/`, []regex.RuneRange{span('/', '/')}},
		{`{`, []regex.RuneRange{span('{', '{')}},
		{`[^]`, regex.AllRunes},
	} {
		n, err := ecma.Parse(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		} else if n.Op != ecma.Class || !reflect.DeepEqual(regex.NormalizeRunes(n.Ranges), regex.NormalizeRunes(c.want)) {
			t.Errorf("%s: %+v, want %v", c.pattern, n, c.want)
		}
	}
}

func TestQuantifiers(t *testing.T) {
	for _, c := range []struct {
		pattern     string
		least, most int
	}{{`a*`, 0, -1}, {`a+?`, 1, -1}, {`a?`, 0, 1}, {`a{3}`, 3, 3}, {`a{3,}`, 3, -1}, {`(?:a){3,5}?`, 3, 5}} {
		if n, err := ecma.Parse(c.pattern); err != nil || n.Op != ecma.Repeat || n.Min != c.least || n.Max != c.most {
			t.Errorf("%s: %+v, %v", c.pattern, n, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for pattern, reason := range map[string]string{
		`(a`: "not closed", `a)`: "no group", `[a`: "not closed", `*a`: "nothing that", `a**`: "follows a quantifier", `a{2}{3}`: "follows a quantifier", `{2}`: "nothing that", `^*`: "cannot be repeated",
		`a{3,2}`: "out of order", `[b-a]`: "out of order", `\1`: "back to a group", `(?<=a)`: "look-behind", `(?i)a`: "flags", `\Z`: "no meaning",
		`\p{Nope}`: "not known", `\`: "ends with a backslash", `\u12`: "four hexadecimal", `a{9999999}`: "above", "\xff": "UTF-8",
		strings.Repeat("(", 300): "nested deeper", strings.Repeat("a", 1<<17): "bytes", strings.Repeat(`\p{L}`, 1000): "ranges",
	} {
		_, err := ecma.Parse(pattern)
		var e *ecma.Error
		if !errors.As(err, &e) || !strings.Contains(e.Reason, reason) {
			t.Errorf("%.20q: %v, want %q", pattern, err, reason)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`^a|b$`, `(?=a)(?!b)[^\d-x]{2,}`, `\p{L}\u{1F600}\b`, `((a*)*)*`, `[\]\\]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		n, err := ecma.Parse(pattern)
		var e *ecma.Error
		if (n == nil) == (err == nil) || err != nil && !errors.As(err, &e) {
			t.Fatalf("%+v, %v", n, err)
		}
	})
}
