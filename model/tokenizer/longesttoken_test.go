package tokenizer

import (
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// boundFixtures are tokenizers of which an id has a longest text.
func boundFixtures(tb testing.TB) map[string]*Tokenizer {
	out := map[string]*Tokenizer{"byte level": smallByteLevel().load(tb), "SentencePiece": smallSentencePiece().load(tb)}
	for name, steps := range map[string]any{
		"NFC": dict{"type": "NFC"}, "NFKC": dict{"type": "NFKC"}, "NFD": dict{"type": "NFD"}, "lower": dict{"type": "Lowercase"},
		"quotes": dict{"type": "Replace", "pattern": dict{"String": "aaa"}, "content": "b"},
		"both":   dict{"type": "Sequence", "normalizers": []any{dict{"type": "NFKC"}, dict{"type": "Lowercase"}}},
	} {
		f := smallByteLevel()
		f.normalizer = steps
		out[name] = f.load(tb)
	}
	f := smallByteLevel()
	f.preTokenizer = dict{"type": "Sequence", "pretokenizers": []any{
		dict{"type": "Split", "pattern": dict{"Regex": `\p{N}|[^\s\p{N}]+|\s+`}, "behavior": "Isolated"}, dict{"type": "Digits", "individual_digits": true},
		dict{"type": "ByteLevel", "add_prefix_space": true, "use_regex": false}}}
	out["regex"] = f.load(tb)
	f = smallByteLevel()
	f.preTokenizer, f.model = dict{"type": "Metaspace"}, dict{"unk_token": "z"}
	out["unknown"] = f.load(tb)
	return out
}

var boundText = rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("hello world  aaa1é\u0301\u030a\u0304\u1100\u1161\u11a8Kﬁ𝐀Å<>|")), rapid.Rune()))

// TestMaxAgrees: a bound on the ids changes nothing for a text that keeps it, and
// returns too many ids for one that does not.
func TestMaxAgrees(t *testing.T) {
	toks := boundFixtures(t)
	rapid.Check(t, func(rt *rapid.T) {
		text := boundText.Draw(rt, "text") + strings.Repeat(rapid.SampledFrom([]string{"<|end|>", "hello", "<s>", " ab", "q"}).Draw(rt, "again"), rapid.IntRange(0, 60).Draw(rt, "times"))
		opts := EncodeOptions{ParseSpecial: rapid.Bool().Draw(rt, "parse"), AddSpecial: rapid.Bool().Draw(rt, "add")}
		for name, tok := range toks {
			whole := tok.Encode(text, opts)
			limited := opts
			limited.Max = rapid.IntRange(1, 80).Draw(rt, "max")
			got := tok.Encode(text, limited)
			if len(whole) <= limited.Max && !slices.Equal(got, whole) {
				rt.Fatalf("%s: at most %d ids of %q: %v, want %v", name, limited.Max, text, got, whole)
			}
			if len(whole) > limited.Max && len(got) <= limited.Max {
				rt.Fatalf("%s: %d ids of %q with at most %d, there are %d", name, len(got), text, limited.Max, len(whole))
			}
		}
	})
}

// TestLongestTokenIsABound: no text has more bytes than ids times LongestToken.
func TestLongestTokenIsABound(t *testing.T) {
	toks := boundFixtures(t)
	for name, tok := range toks {
		if tok.LongestToken() <= 0 {
			t.Errorf("%s: no bound", name)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := boundText.Draw(rt, "text")
		for name, tok := range toks {
			for _, parse := range []bool{false, true} {
				ids := tok.Encode(text, EncodeOptions{ParseSpecial: parse})
				if len(text) > len(ids)*tok.LongestToken() {
					rt.Fatalf("%s: %q has %d bytes and %d ids; a token has at most %d", name, text, len(text), len(ids), tok.LongestToken())
				}
			}
		}
	})
}

func TestLongestTokenValues(t *testing.T) {
	with := func(change func(*fixture)) *Tokenizer {
		f := smallByteLevel()
		change(&f)
		return f.load(t)
	}
	for name, c := range map[string]struct {
		tok  *Tokenizer
		want int
	}{
		"the longest added token": {with(func(*fixture) {}), len("<|end|>")},
		"bytes, not characters":   {with(func(f *fixture) { f.vocab = append(f.vocab, strings.Repeat("Ġ", 9)) }), 9},
		"NFKC":                    {with(func(f *fixture) { f.normalizer = dict{"type": "NFKC"} }), 4 * len(" world")},
		"text removed":            {with(func(f *fixture) { f.normalizer = dict{"type": "StripAccents"} }), 0},
		"ends removed":            {with(func(f *fixture) { f.normalizer = dict{"type": "Strip", "strip_left": true} }), 0},
		"replaced by nothing": {with(func(f *fixture) {
			f.normalizer = dict{"type": "Replace", "pattern": dict{"String": "x"}, "content": ""}
		}), 0},
		"a regular expression replaced": {with(func(f *fixture) {
			f.normalizer = dict{"type": "Replace", "pattern": dict{"Regex": "x+"}, "content": "y"}
		}), 0},
		"white space dropped": {with(func(f *fixture) {
			f.preTokenizer = dict{"type": "Sequence", "pretokenizers": []any{dict{"type": "WhitespaceSplit"}, byteLevel}}
		}), 0},
		"unknown characters dropped": {fixture{vocab: []string{"a"}}.load(t), 0},
		"unknown characters joined":  {fixture{vocab: []string{"a"}, model: dict{"unk_token": "a", "fuse_unk": true}}.load(t), 0},
		"unknown characters alone":   {fixture{vocab: []string{"a"}, model: dict{"unk_token": "a"}}.load(t), 4},
		"byte fallback":              {smallSentencePiece().load(t), len("▁▁")},
	} {
		if got := c.tok.LongestToken(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestShrinkFactors: over all of Unicode, the most bytes that a normalizer makes
// one byte of. Composition is followed through the longest text of each part.
func TestShrinkFactors(t *testing.T) {
	for _, c := range []struct {
		name   string
		form   norm.Form
		parts  norm.Form
		factor int
	}{{"NFC", norm.NFC, norm.NFD, 4}, {"NFKC", norm.NFKC, norm.NFKD, 4}, {"NFD", norm.NFD, norm.NFD, 3}, {"NFKD", norm.NFKD, norm.NFKD, 4}} {
		parts := func(s string) string {
			if c.parts.IsNormalString(s) {
				return s
			}
			return c.parts.String(s)
		}
		// The longest character that becomes each decomposed one.
		longest := map[rune]int{}
		for r := rune(0x80); r <= utf8.MaxRune; r++ {
			if s := string(r); utf8.ValidRune(r) && parts(s) != s {
				if p, n := utf8.DecodeRuneInString(parts(s)); n == len(parts(s)) {
					longest[p] = max(longest[p], len(s))
				}
			}
		}
		most := 0.0
		for r := rune(0); r <= utf8.MaxRune; r++ {
			if !utf8.ValidRune(r) {
				continue
			}
			s, source := string(r), 0
			for _, p := range parts(s) {
				source += max(longest[p], utf8.RuneLen(p))
			}
			to := len(s)
			if !c.form.IsNormalString(s) {
				to = len(c.form.String(s))
			}
			most = max(most, float64(max(source, len(s)))/float64(to))
		}
		if most > float64(c.factor) {
			t.Errorf("%s makes a text up to %v times shorter, want at most %d", c.name, most, c.factor)
		}
	}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if s := string(r); utf8.ValidRune(r) && len(s) > 3*len(lowercase(s)) {
			t.Errorf("%q in lower case is %d times shorter", s, len(s)/len(lowercase(s)))
		}
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	f()
	goruntime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMaxBoundsMemory: what is encoded of a text that is too long follows Max,
// not the text.
func TestMaxBoundsMemory(t *testing.T) {
	const most = 1 << 20
	for name, tok := range boundFixtures(t) {
		if len(tok.normalize) > 0 || name == "unknown" {
			continue // normalizers copy a text
		}
		for _, unit := range []string{"hello", "q", " ", "1", "hello world ", "<|end|>"} {
			text := strings.Repeat(unit, (8<<20)/len(unit))
			tok.Encode("warm", EncodeOptions{})
			limit := uint64(most)
			if name == "regex" {
				limit += 48 << 20 // the regular expression needs the text in characters
			}
			n := allocated(func() {
				if ids := tok.Encode(text, EncodeOptions{ParseSpecial: true, Max: 100}); len(ids) <= 100 {
					t.Errorf("%s: %d ids of 8 MiB of %q", name, len(ids), unit)
				}
			})
			if n > limit {
				t.Errorf("%s: 100 ids of 8 MiB of %q allocate %d bytes, want at most %d", name, unit, n, limit)
			}
		}
	}
}

// TestGiantWordMemory: merging a word takes 12 bytes for each of its own, and
// none of it is kept.
func TestGiantWordMemory(t *testing.T) {
	tok := smallByteLevel().load(t)
	word := strings.Repeat("hello", (1<<20)/5)
	tok.Encode("warm", EncodeOptions{})
	n := allocated(func() { tok.Encode(word, EncodeOptions{}) })
	if most := uint64(12*len(word) + 4*len(word) + 1<<18); n > most && !racedetector.Enabled { // and the ids
		t.Errorf("a word of 1 MiB allocates %d bytes, want at most %d", n, most)
	}
	for range cap(tok.scratch) + 1 {
		s := tok.scratch.get()
		if kept := 4*cap(s.slots) + 8*cap(s.heap) + cap(s.buf); kept > 16*keptSymbols {
			t.Errorf("a scratch keeps %d bytes", kept)
		}
	}
}

// TestExceedsIsABound: a word is said to have too many ids only if it has.
func TestExceedsIsABound(t *testing.T) {
	toks := boundFixtures(t)
	said := 0
	rapid.Check(t, func(rt *rapid.T) {
		word := strings.Repeat(rapid.SampledFrom([]string{"a", "hello", "ab", "é", " world", "▁▁", "q"}).Draw(rt, "unit"), rapid.IntRange(0, 40).Draw(rt, "times")) + boundText.Draw(rt, "end")
		word = lossy(word)
		for name, tok := range toks {
			ids := tok.model.appendWord(tok.scratch.get(), word, nil)
			n := rapid.IntRange(0, 30).Draw(rt, "n")
			if tok.model.exceeds(word, n) {
				if said++; len(ids) <= n {
					rt.Fatalf("%s: %q has %d ids and is said to exceed %d", name, word, len(ids), n)
				}
			}
		}
	})
	if said == 0 {
		t.Error("no word was said to exceed anything")
	}
	// A word that only its first bytes betray: no token has more than two q.
	f := smallByteLevel()
	f.vocab = append(f.vocab, strings.Repeat("Ġ", 100))
	tok := f.load(t)
	if word := strings.Repeat("q", 1000); !tok.model.exceeds(word, 249) || tok.model.exceeds(word, 250) {
		t.Error("1000 letters of which no token has more than 4 are not said to have 250 ids at least")
	}
}

// TestMarksAreNormalizedInLinearMemory: accented letters in a row are no run of
// marks, and a real run takes memory for its characters only.
func TestMarksAreNormalizedInLinearMemory(t *testing.T) {
	for unit, most := range map[string]uint64{"é": 0, "\u0301": 40, "\u0323\u0301": 40, "e\u0301": 8} {
		text := strings.Repeat(unit, (1<<20)/len(unit))
		n := allocated(func() { normalForm(norm.NFC, text) })
		if n > most<<20+1<<16 {
			t.Errorf("%q: a MiB takes %d bytes, want at most %d MiB", unit, n, most)
		}
	}
}

// span is a range of a text, a match of the delimiter or the text between.
type span struct {
	start, end int
	match      bool
}

// TestUnknownThatMerges: an unknown character and the letter after it become one id of
// more bytes than any token has.
func TestUnknownThatMerges(t *testing.T) {
	f := smallByteLevel()
	f.preTokenizer, f.model = dict{"type": "Metaspace"}, dict{"unk_token": "h"}
	tok := f.load(t)
	if ids := tok.model.appendWord(tok.scratch.get(), "𖽺e", nil); len(ids) != 1 || tok.model.exceeds("𖽺e", 1) || tok.LongestToken() != 0 {
		t.Errorf("ids %v, said to exceed 1: %v, longest token %d, want one id and no bound", ids, tok.model.exceeds("𖽺e", 1), tok.LongestToken())
	}
}
