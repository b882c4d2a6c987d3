package grammar_test

import (
	"testing"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// bytewise is a vocabulary of bytes and of "id", whose tokenizer joins nothing else.
func bytewise(t *testing.T) *vocab.Vocabulary {
	tokens := vocab.Tokens{End: []int32{257}, Encode: func(text string) (ids []int32) {
		for i := 0; i < len(text); i++ {
			if text[i:] == "id" || len(text) > i+2 && text[i:i+2] == "id" {
				ids = append(ids, 256)
				i++
			} else {
				ids = append(ids, int32(text[i]))
			}
		}
		return ids
	}}
	for b := range 256 {
		tokens.Bytes = append(tokens.Bytes, []byte{byte(b)})
	}
	tokens.Bytes = append(tokens.Bytes, []byte("id"), nil)
	v, err := vocab.New(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// What must come next is the same for every matcher and every time, also where more tokens come
// before than are told apart, and where what is kept is dropped now and then.
func TestCertainTokens(t *testing.T) {
	g, err := grammar.Compile(grammar.Source{Kind: grammar.Choice, Text: `["order by id", "order by i", "order by name, id"]`}, bytewise(t), grammar.Limits{Masks: 2000})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		for before := vocab.None; before < 100; before++ {
			m := g.Matcher()
			for _, c := range []struct {
				token int32 // that follows
				want  int32
			}{{'o', 'o'}, {'r', 'r'}, {'d', 'd'}, {'e', 'e'}, {'r', 'r'}, {' ', ' '}, {'b', 'b'}, {'y', 'y'}, {' ', ' '},
				{'n', vocab.None}, {'a', 'a'}, {'m', 'm'}, {'e', 'e'}, {',', ','}, {' ', ' '}, {256, 256}, {257, vocab.None}} {
				for range 2 {
					if got, err := m.Certain(before); got != c.want || err != nil {
						t.Fatalf("round %d, behind token %d: %d, %v, want %d", round, before, got, err, c.want)
					}
				}
				if err := m.Mask(make([]uint32, g.Vocabulary().Words())); err != nil || m.AllowsMore(3) {
					t.Fatalf("more than 3 tokens are allowed, or %v", err)
				}
				if c.want == vocab.None && c.token == 'n' && !m.AllowsMore(1) {
					t.Fatal("not more than 1 token is allowed")
				}
				if err := m.Accept(c.token); err != nil {
					t.Fatal(err)
				}
			}
			if token, err := m.Certain(before); token != vocab.None || err != nil {
				t.Fatalf("behind the end: %d, %v", token, err)
			}
		}
	}
}
