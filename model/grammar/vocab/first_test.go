package vocab

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// merges is a tokenizer that joins pairs, the first ones first.
type merges struct {
	texts []string // of tokens; a and b, then those of the pairs
	pairs [][2]int32
}

func (m *merges) encode(text string) (ids []int32) {
	for _, c := range text {
		ids = append(ids, c-'a')
	}
	for k, pair := range m.pairs {
		var joined []int32
		for i := 0; i < len(ids); i++ {
			if i+1 < len(ids) && ids[i] == pair[0] && ids[i+1] == pair[1] {
				joined = append(joined, int32(k+2))
				i++
			} else {
				joined = append(joined, ids[i])
			}
		}
		ids = joined
	}
	return ids
}

// The first token stays the same whatever follows, and behind any text in which it follows the
// token before.
func TestFirst(t *testing.T) {
	certain := 0
	rapid.Check(t, func(t *rapid.T) {
		m := &merges{texts: []string{"a", "b"}}
		for range rapid.IntRange(0, 12).Draw(t, "merges") {
			token := rapid.IntRange(0, len(m.texts)-1)
			a, b := token.Draw(t, "left"), token.Draw(t, "right")
			m.texts = append(m.texts, m.texts[a]+m.texts[b])
			m.pairs = append(m.pairs, [2]int32{int32(a), int32(b)})
		}
		tokens := Tokens{Encode: m.encode}
		for _, text := range m.texts {
			tokens.Bytes = append(tokens.Bytes, []byte(text))
		}
		v, err := New(tokens)
		if err != nil {
			t.Fatal(err)
		}

		context := m.encode(rapid.StringMatching("[ab]{0,8}").Draw(t, "context"))
		before := None
		var prefix strings.Builder
		for _, id := range context {
			before = id
			prefix.WriteString(m.texts[id])
		}
		text := rapid.StringMatching("[ab]{1,12}").Draw(t, "text")
		first := v.First(before, []byte(text))
		if first == None {
			return
		}
		certain++
		for n := range 1 << 6 {
			follows := ""
			for ; n > 1; n >>= 1 {
				follows += string(rune('a' + n&1))
			}
			ids := m.encode(prefix.String() + text + follows)
			if len(ids) < len(context) || !sameBeginning(ids, context) {
				continue // the context is not where the tokenizer cuts
			}
			if len(ids) == len(context) || ids[len(context)] != first {
				t.Fatalf("%q | %q | %q: %q is not certain: %v", prefix.String(), text, follows, m.texts[first], ids)
			}
		}
	})
	if certain == 0 {
		t.Error("no token was certain")
	}
}

func sameBeginning(a, b []int32) bool {
	for i := range b {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// A token is not certain where the tokenizer changes the text, or would not cut there.
func TestFirstRefuses(t *testing.T) {
	texts := []string{"a", "b", "ab", " a"}
	v := func(encode func(string) []int32) *Vocabulary {
		tokens := Tokens{Encode: encode}
		for _, text := range texts {
			tokens.Bytes = append(tokens.Bytes, []byte(text))
		}
		v, err := New(tokens)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	always := func(ids ...int32) func(string) []int32 { return func(string) []int32 { return ids } }
	for name, c := range map[string]struct {
		encode func(string) []int32
		before int32
		text   string
		want   int32
	}{
		"no tokenizer":               {nil, None, "b", None},
		"no text":                    {always(), None, "", None},
		"as it is":                   {always(1), None, "b", 1},
		"another text":               {always(0), None, "b", None},
		"behind a token":             {always(0, 1), 0, "b", 1},
		"no cut behind the token":    {always(2), 0, "b", None},
		"a blank before a text":      {always(3), None, "a", None},
		"a blank before the context": {always(3, 1), 0, "b", 1},
		"a text too short":           {always(0), None, "ab", None},
	} {
		if got := v(c.encode).First(c.before, []byte(c.text)); got != c.want {
			t.Errorf("%s: token %d, want %d", name, got, c.want)
		}
	}
}
