package vocab

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLongestAgainstTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\"\xc3\xa9")), 0, 12)
		words := rapid.SliceOfN(word, 1, 60).Draw(t, "words")
		v, err := New(Tokens{Bytes: words, Special: map[int32]string{0: "<x>"}})
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\"\xc3\xa9")), 0, 20).Draw(t, "text")
		var mask []uint32
		if rapid.Bool().Draw(t, "masked") {
			mask = rapid.SliceOfN(rapid.Uint32(), v.Words(), v.Words()).Draw(t, "mask")
		}
		longest := 0
		for id, w := range words {
			if id > 0 && bytes.HasPrefix(text, w) && (mask == nil || Allowed(mask, int32(id))) {
				longest = max(longest, len(w))
			}
		}
		id, ok := v.Longest(string(text), mask)
		if ok != (longest > 0) || ok && (len(v.Bytes(id)) != longest || !bytes.HasPrefix(text, v.Bytes(id)) || mask != nil && !Allowed(mask, id)) {
			t.Fatalf("token %d %q, %v; the longest has %d bytes", id, v.Bytes(id), ok, longest)
		}
	})
}

func TestDraw(t *testing.T) {
	var words [][]byte
	for _, w := range []string{"1", "2", "345", "a", "ab", "b", "é", "日本", "\t", "\x01", "\x02", "", "", "", ""} {
		words = append(words, []byte(w))
	}
	v, err := New(Tokens{Bytes: words, Special: map[int32]string{12: "<x>", 13: "</s>"}, End: []int32{13, 14}})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]uint32, v.Words())
	for id := range int32(v.Size()) {
		if id != 11 { // no token at all, which no mask allows
			Allow(all, id)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	const draws = 90_000
	for _, ends := range []bool{false, true} {
		got := map[int32]int{}
		for range draws {
			id, ok := v.Draw(all, ends, random)
			if !ok {
				t.Fatal("nothing was drawn")
			}
			got[id]++
		}
		want := map[int32]int{0: 3, 1: 3, 2: 3, 3: 2, 4: 2, 5: 1, 6: 2, 7: 2, 8: 1, 9: 2, 10: 2, 12: 1} // one in so many of a kind
		kinds := 7
		if ends {
			want[13], want[14], kinds = 1, 1, 9
		}
		for id := range int32(v.Size()) {
			expected := 0.0
			if want[id] > 0 {
				expected = draws / float64(kinds*want[id])
			}
			if n := float64(got[id]); n < 0.9*expected || n > 1.1*expected {
				t.Errorf("ends %v: token %d %q was drawn %v times, expected %.0f", ends, id, v.Bytes(id), n, expected)
			}
		}
	}
	if id, ok := v.Draw(make([]uint32, v.Words()), true, random); ok {
		t.Errorf("token %d was drawn from an empty mask", id)
	}
	only := make([]uint32, v.Words())
	Allow(only, 13)
	if id, ok := v.Draw(only, false, random); ok {
		t.Errorf("the end token %d was drawn", id)
	}
}

func TestSome(t *testing.T) {
	var words [][]byte
	for _, w := range []string{"bb", "a", "é", "\xc3", "b", "a", "ccc", "", ""} {
		words = append(words, []byte(w))
	}
	v, err := New(Tokens{Bytes: words, Special: map[int32]string{7: "<x>"}, End: []int32{8}})
	if err != nil {
		t.Fatal(err)
	}
	all := []uint32{1<<9 - 1}
	for most, want := range []string{"", "<x>", "<x> a", "<x> a b", "<x> a b bb", "<x> a b bb é", "<x> a b bb é ccc", "<x> a b bb é ccc"} {
		if n, some := v.Some(all, most); n != 9 || strings.Join(some, " ") != want {
			t.Errorf("%d: %d, %q; want %s", most, n, some, want)
		}
	}
	if n, some := v.Some([]uint32{0}, 3); n != 0 || some != nil {
		t.Errorf("of an empty mask: %d, %q", n, some)
	}
}
