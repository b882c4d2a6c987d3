package tokenizer

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowMerge is the definition: apply the lowest-ranked merge, leftmost first,
// until none is left.
func slowMerge(pairs *pairTable, ids []int32) []int32 {
	ids = slices.Clone(ids)
	for {
		best, at, merged := uint32(0), -1, int32(0)
		for i := 0; i+1 < len(ids); i++ {
			if rank, m, ok := pairs.get(ids[i], ids[i+1]); ok && (at < 0 || rank < best) {
				best, at, merged = rank, i, m
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, merged)
	}
}

func TestMergeMatchesDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// Tokens are texts over a small alphabet, so that different pairs
		// often give the same token.
		texts := []string{"a", "b", "c"}
		ids := map[string]int32{"a": 0, "b": 1, "c": 2}
		pairs := newPairTable(40)
		for rank := range rapid.IntRange(0, 40).Draw(rt, "merges") {
			l := rapid.IntRange(0, len(texts)-1).Draw(rt, "left")
			r := rapid.IntRange(0, len(texts)-1).Draw(rt, "right")
			joined := texts[l] + texts[r]
			if len(joined) > 12 {
				continue
			}
			id, ok := ids[joined]
			if !ok {
				id = int32(len(texts))
				texts, ids[joined] = append(texts, joined), id
			}
			pairs.set(int32(l), int32(r), uint32(rank), id)
		}
		word := rapid.SliceOfN(rapid.Int32Range(0, 2), 0, 60).Draw(rt, "word")
		var m merger
		m.reset(len(word))
		for _, id := range word {
			m.add(id)
		}
		if got, want := m.run(pairs, nil), slowMerge(pairs, word); !slices.Equal(got, want) {
			rt.Fatalf("merge %v = %v, want %v", word, got, want)
		}
	})
}

func TestPairTableMatchesMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type pair struct{ l, r int32 }
		id := rapid.OneOf(rapid.Int32Range(0, 8), rapid.Int32Range(0, maxTokenID))
		want := map[pair]uint32{}
		n := rapid.IntRange(0, 50).Draw(rt, "n")
		table := newPairTable(n)
		for rank := range n {
			p := pair{id.Draw(rt, "l"), id.Draw(rt, "r")}
			want[p] = uint32(rank)
			table.set(p.l, p.r, uint32(rank), p.l)
		}
		empty := func(s pairSlot) bool { return s.key == 0 }
		if n := len(slices.DeleteFunc(slices.Clone(table.slots), empty)); n != len(want) {
			rt.Fatalf("%d pairs, want %d", n, len(want))
		}
		for p, rank := range want {
			if got, merged, ok := table.get(p.l, p.r); !ok || got != rank || merged != p.l {
				rt.Fatalf("get %v = %d, %d, %v; want %d, %d", p, got, merged, ok, rank, p.l)
			}
		}
		p := pair{id.Draw(rt, "l"), id.Draw(rt, "r")}
		if _, _, ok := table.get(p.l, p.r); ok != (func() bool { _, in := want[p]; return in })() {
			rt.Fatalf("get %v = %v", p, ok)
		}
	})
}

// Cutting a SentencePiece text at word marks must not change its ids.
func TestWordMarkCutsAreExact(t *testing.T) {
	tok := smallSentencePiece().load(t)
	if tok.model.wordMark == "" {
		t.Fatal("the fixture has no word mark")
	}
	whole := *tok.model
	whole.wordMark = ""
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("▁▁abcé€x")), 0, 40, -1).Draw(rt, "text")
		pieces := func(m *bpe) []int32 {
			e := encoder{t: &Tokenizer{model: m}, most: math.MaxInt, scratch: &scratch{cache: map[string][]int32{}}}
			e.piece(text)
			return e.ids
		}
		got := pieces(tok.model)
		if want := pieces(&whole); !slices.Equal(got, want) {
			rt.Fatalf("%q in words %v, whole %v", text, got, want)
		}
	})
}

func TestWordMarkNeedsSafeVocabulary(t *testing.T) {
	f := smallSentencePiece()
	f.vocab = append(f.vocab, "a▁")
	f.merges = append(f.merges, "a ▁")
	tok := f.load(t)
	if tok.model.wordMark != "" {
		t.Error("a token crosses the mark, but texts are cut there")
	}
}
