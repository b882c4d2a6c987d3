package tokenizer

import (
	"iter"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/dlclark/regexp2/v2"
	"pgregory.net/rapid"
)

// regexPieces is the slow twin: the pattern run by the regular expression
// engine, matches and the text between them.
func regexPieces(tb testing.TB, re *regexp2.Regexp, s string) []string {
	matches, err := re.FindAllStringIndex(s, -1)
	if err != nil {
		tb.Fatal(err)
	}
	var pieces []string
	splitSpans(s, ranges(matches), isolated, false, func(start, end int) bool {
		pieces = append(pieces, s[start:end])
		return true
	})
	return pieces
}

func ranges(list [][]int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for _, r := range list {
			if !yield(r[0], r[1]) {
				return
			}
		}
	}
}

func fastPieces(split fastSplit, s string) []string {
	var pieces []string
	fastStep(split)(s, true, func(piece string, _ bool) bool {
		pieces = append(pieces, piece)
		return true
	})
	return pieces
}

func checkFastSplit(tb testing.TB, s string) {
	for source, split := range fastSplits {
		re := fastTwins[source]
		if got, want := fastPieces(split, s), regexPieces(tb, re, s); !slices.Equal(got, want) {
			tb.Fatalf("pattern %s on %q\n got %q\nwant %q", source, s, got, want)
		}
	}
}

var fastTwins = func() map[string]*regexp2.Regexp {
	m := map[string]*regexp2.Regexp{}
	for source := range fastSplits {
		m[source] = regexp2.MustCompile(source)
	}
	return m
}()

// splitAlphabet has every case the patterns tell apart, several times over.
var splitAlphabet = strings.Split("a|b|Z|é|好|ǅ|ʰ|1|2|²|Ⅷ|٣| | |  |\t|\n|\r|\r\n|\u00a0|\u2003|\u3000|\u0085|\u2028|\v|'|'s|'S|'T|'re|'RE|'rE|'ve|'m|'ll|'LL|'d|'l|'r|'ſ|’|!|.|,|_|-|€|🙂|\u0301|\u200d|\ufeff|\U000323af|\U00010330|\U000e0100|K|ſ", "|")

func TestFastSplitMatchesRegex(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(splitAlphabet), 0, 24).Draw(rt, "parts")
		s := strings.Join(parts, "")
		for source, split := range fastSplits {
			if got, want := fastPieces(split, s), regexPieces(t, fastTwins[source], s); !slices.Equal(got, want) {
				rt.Fatalf("pattern %s on %q\n got %q\nwant %q", source, s, got, want)
			}
		}
	})
}

// Every pair of the alphabet, at the end of the text and in front of a letter
// and of a space.
func TestFastSplitPairs(t *testing.T) {
	for _, a := range splitAlphabet {
		for _, b := range splitAlphabet {
			for _, tail := range []string{"", "x", " ", "\n"} {
				checkFastSplit(t, a+b+tail)
			}
		}
	}
}

func TestRuneClasses(t *testing.T) {
	table := classTable()
	for r := range rune(unicode.MaxRune + 1) {
		if r >= 0xD800 && r < 0xE000 {
			continue
		}
		want := uint8(classOther)
		switch {
		case r == '\r' || r == '\n':
			want = classNewline
		case unicode.IsLetter(r):
			want = classLetter
		case unicode.IsNumber(r):
			want = classNumber
		case unicode.IsSpace(r):
			want = classSpace
		}
		if got, n := classAt(table, string(r), 0); got != want || n != len(string(r)) {
			t.Fatalf("class of %U = %d, %d bytes; want %d, %d bytes", r, got, n, want, len(string(r)))
		}
	}
}

func FuzzFastSplit(f *testing.F) {
	f.Add("It's 1234 o'clock,\r\n  NOW!")
	f.Add(strings.Join(splitAlphabet, ""))
	f.Fuzz(func(t *testing.T, s string) { checkFastSplit(t, lossy(s)) })
}
