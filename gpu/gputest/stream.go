package gputest

import (
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu"
)

// stream is one sequence as it is fed to a model, step by step.
type stream struct {
	tokens []int32 // all of it, known from the start
	pages  []int32
	fed    int
	logits [][]float32 // of what was fed
}

// next is the part of at most n tokens that comes next.
func (s *stream) next(n int) gpu.Sequence {
	n = min(n, len(s.tokens)-s.fed)
	return gpu.Sequence{Pages: s.pages, Tokens: s.tokens[s.fed : s.fed+n], Start: s.fed, KeepLogits: true}
}

// took takes in the result of what next gave.
func (s *stream) took(r gpu.SequenceResult) {
	s.fed += len(r.Logits)
	s.logits = append(s.logits, r.Logits...)
}

// randomTokens avoids the last token, which may be poison.
func randomTokens(random *rand.Rand, vocab, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(random.IntN(vocab - 1))
	}
	return out
}

// dealer hands out pages in random order.
type dealer struct{ free []int32 }

func newDealer(random *rand.Rand, pages int) *dealer {
	d := &dealer{}
	for _, p := range random.Perm(pages) {
		d.free = append(d.free, int32(p+1))
	}
	return d
}

// deal covers so many positions.
func (d *dealer) deal(positions, pageSize int) []int32 {
	n := (positions + pageSize - 1) / pageSize
	out := d.free[:n:n]
	d.free = d.free[n:]
	return out
}
