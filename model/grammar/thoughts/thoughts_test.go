package thoughts

import (
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

func TestFollower(t *testing.T) {
	texts := []string{"<think>", "</think>", "a", "b", " ", "</", "think>x", "<th", "ink>y"}
	tokens := vocab.Tokens{Special: map[int32]string{1: "</think>"}}
	for id, text := range texts {
		if id != 1 {
			tokens.Bytes = append(tokens.Bytes, []byte(text))
		} else {
			tokens.Bytes = append(tokens.Bytes, nil)
		}
	}
	v, err := vocab.New(tokens)
	if err != nil {
		t.Fatal(err)
	}
	const none = -1
	for name, c := range map[string]struct {
		open   string
		tokens int
		output []int32
		forced []int32 // before each token of the output, and after it
	}{
		"opened by the prompt": {"", 2, []int32{2, 3, 1, 2}, []int32{none, none, 1, none, none}},
		"none allowed":         {"", 0, []int32{1, 2}, []int32{1, none, none}},
		"ended in time":        {"", 3, []int32{2, 1, 2, 2, 2}, []int32{none, none, none, none, none, none}},
		"ended in pieces":      {"", 3, []int32{2, 5, 6, 2, 2}, []int32{none, none, none, none, none, none}},
		"opened by the model":  {"<think>\n", 2, []int32{0, 2, 1, 2}, []int32{none, none, 1, none, none}},
		"opened in pieces":     {"<think>", 3, []int32{4, 7, 8, 1}, []int32{none, none, none, 1, none}},
		"not opened":           {"<think>", 1, []int32{2, 0, 2, 2}, []int32{none, none, none, none, none}},
		"refused to end":       {"", 1, []int32{2, 3, 3}, []int32{none, 1, none, none}},
	} {
		t.Run(name, func(t *testing.T) {
			f := New(Limit{Tokens: c.tokens, Open: c.open, Mark: "</think>", End: []int32{1}}, v)
			for i := 0; ; i++ {
				token, ok := f.Forced()
				if !ok {
					token = none
				}
				if token != c.forced[i] {
					t.Fatalf("token %d is forced after %v, want %d", token, c.output[:i], c.forced[i])
				}
				if i == len(c.output) {
					break
				}
				f.Accept(c.output[i])
			}
		})
	}
}

// The mark may have several tokens.
func TestMarkOfSeveralTokens(t *testing.T) {
	v, err := vocab.New(vocab.Tokens{Bytes: [][]byte{[]byte("</"), []byte("t>"), []byte("a")}})
	if err != nil {
		t.Fatal(err)
	}
	f := New(Limit{Tokens: 1, Mark: "</t>", End: []int32{0, 1}}, v)
	var said []int32
	for range 5 {
		token, ok := f.Forced()
		if !ok {
			token = 2
		}
		said = append(said, token)
		f.Accept(token)
	}
	if want := []int32{2, 0, 1, 2, 2}; len(said) != 5 || [5]int32(said) != [5]int32(want) {
		t.Errorf("the output is %v, want %v", said, want)
	}
}
