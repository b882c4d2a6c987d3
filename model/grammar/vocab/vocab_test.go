package vocab

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNewRefuses(t *testing.T) {
	text := [][]byte{[]byte("a"), []byte("</s>")}
	for name, tokens := range map[string]Tokens{
		"nothing":                  {},
		"an end that is missing":   {Bytes: text, End: []int32{2}},
		"a negative end":           {Bytes: text, End: []int32{-1}},
		"a special that is absent": {Bytes: text, Special: map[int32]string{9: "x"}},
	} {
		if _, err := New(tokens); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestTrieHasEveryTokenOnce walks the trees and compares them with the list.
func TestTrieHasEveryTokenOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]byte("ab\"\\\x00\xc3\xa9")), 0, 40), 1, 60).Draw(t, "words")
		v, err := New(Tokens{Bytes: words, Special: map[int32]string{0: "<x>"}})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int32]int{}
		for k := range v.slices {
			trie := &v.slices[k].trie
			path := make([]byte, trie.depth)
			for i, n := range trie.nodes {
				if int(n.skip) <= i || int(n.skip) > len(trie.nodes) {
					t.Fatalf("node %d skips to %d of %d", i, n.skip, len(trie.nodes))
				}
				path[n.depth] = n.by
				var ids []int32
				if n.token >= 0 {
					ids = []int32{n.token}
				} else if n.token < noToken {
					ids = trie.more[-n.token-2]
				}
				for _, id := range ids {
					seen[id]++
					if !slices.Equal(path[:n.depth+1], words[id]) {
						t.Fatalf("token %d is %q in the tree, not %q", id, path[:n.depth+1], words[id])
					}
					if !Allowed(v.slices[k].mask, id) || sliceOf(words[id]) != k {
						t.Fatalf("token %d is in the wrong slice", id)
					}
				}
			}
		}
		for id, w := range words {
			want := 1
			if id == 0 || len(w) == 0 {
				want = 0
			}
			if seen[int32(id)] != want {
				t.Fatalf("token %d %q is in the trees %d times", id, w, seen[int32(id)])
			}
		}
	})
}

func TestSlices(t *testing.T) {
	for text, want := range map[string]int{
		"a": short, "0123456789": short, "01234567890": medium, strings.Repeat("é", 30): medium, strings.Repeat("é", 31): long,
		`a"`: rest, `\`: rest, "\n": rest, "\xc3": rest, "a\x7f": rest,
	} {
		if got := sliceOf([]byte(text)); got != want {
			t.Errorf("%q is in slice %d, want %d", text, got, want)
		}
	}
}
