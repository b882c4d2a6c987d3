package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Patterns of further model families, which run in the regular expression
// engine.
var otherPatterns = map[string]struct{ pattern, text, want string }{
	"o200k": {
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
		"It'll be HTTPServer 1234, café!\n  ok", "It'll| be| HTTPServer| |123|4|,| café|!\n| | ok",
	},
	"marks and scripts": {
		`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
		"#go नमस्ते €5", "#go| नमस्ते| €|5",
	},
	"ideographs": {`[一-龥\u3040-ゟ゠-ヿ]+`, "ab漢字かな cd", "ab|漢字かな| cd"},
}

func splitStep(tb testing.TB, source string) preTokenizers {
	p, err := preTokenizersOf(marshal(tb, dict{"type": "Split", "pattern": dict{"Regex": source}, "behavior": "Isolated"}))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestOtherPatterns(t *testing.T) {
	for name, c := range otherPatterns {
		var got []string
		splitStep(t, c.pattern).run(c.text, true, func(piece string) bool { got = append(got, piece); return true })
		if joined := strings.Join(got, "|"); joined != c.want {
			t.Errorf("%s: %q, want %q", name, joined, c.want)
		}
	}
}

// A pattern that backtracks without end leaves the piece unsplit in time.
func TestRegexLimit(t *testing.T) {
	p, err := compileRegex(`(a+)+$`, "test")
	if err != nil {
		t.Fatal(err)
	}
	p.regex.MatchTimeout = 20 * time.Millisecond
	for _, text := range []string{strings.Repeat("a", 40) + "b", strings.Repeat("a", matchesAtOnce) + "b"} {
		for start, end := range p.matches(text) {
			t.Errorf("%d bytes: match [%d, %d), want none", len(text), start, end)
		}
	}
}

func BenchmarkRegexSplit(b *testing.B) {
	text := strings.Repeat(englishLine, 1<<20/len(englishLine))
	for name, c := range otherPatterns {
		b.Run(name, func(b *testing.B) {
			p := splitStep(b, c.pattern)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				p.run(text, true, func(string) bool { return true })
			}
		})
	}
}

// TestRegexWalkEqualsAll: a long text is cut as a short one.
func TestRegexWalkEqualsAll(t *testing.T) {
	for name, c := range otherPatterns {
		p, err := compileRegex(c.pattern, "test")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat(c.text+" ", 20)
		var all, walked [][2]int
		for start, end := range p.matches(text) {
			all = append(all, [2]int{start, end})
		}
		p.walk(text, func(start, end int) bool {
			walked = append(walked, [2]int{start, end})
			return true
		})
		if len(all) == 0 || !slices.Equal(all, walked) {
			t.Errorf("%s: %v, want %v", name, walked, all)
		}
	}
}
