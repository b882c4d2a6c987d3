package regex

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRespell compares a respelled language with the respelled strings of the language.
func TestRespell(t *testing.T) {
	for _, pattern := range []string{`a"*b`, `(a|"|\\)*`, `[^a]b?`, `(?!a").*b`, `(a"b|"\\){2,3}`, `.*\\.*`, ``} {
		s := NewSet(Limits{})
		term, err := s.Parse(pattern, Options{})
		if err != nil {
			t.Fatal(err)
		}
		spelled := s.Respell(map[byte]string{'"': `\"`, '\\': `\\`}).Term(term)
		random := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			var b strings.Builder
			for range random.IntN(6) {
				b.WriteByte(`ab"\`[random.IntN(4)])
			}
			text := b.String()
			after := strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(text)
			if s.Matches(term, text) != s.Matches(spelled, after) {
				t.Fatalf("%s: %q and %q differ", pattern, text, after)
			}
			if strings.Contains(text, `"`) && !strings.Contains(text, `\`) && s.Matches(spelled, text) {
				t.Fatalf("%s: %q is in the respelled language", pattern, text)
			}
		}
	}
}
