package gputest

import (
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu"
)

// stream is one row as it is fed to a model, step by step.
type stream struct {
	row    gpu.Row
	tokens []int32 // all of it, known from the start
	pages  []int32
	fed    int
	logits [][]float32 // of what was fed
}

// next is the part of at most n tokens that comes next. The first one opens the
// row.
func (s *stream) next(n int) Part {
	p := Part{RowWork: gpu.RowWork{Row: s.row, Start: s.fed, Count: min(n, len(s.tokens)-s.fed), KeepLogits: true}}
	if s.fed == 0 {
		whole := Whole(s.tokens, s.pages)
		p.Open, p.Grow = whole.Open, whole.Grow
	}
	return p
}

// took adds the result of the part from next.
func (s *stream) took(r gpu.RowResult) {
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

// deal hands out the pages for some positions.
func (d *dealer) deal(positions, pageSize int) []int32 {
	n := (positions + pageSize - 1) / pageSize
	out := d.free[:n:n]
	d.free = d.free[n:]
	return out
}

// Chunked computes a prompt in chunks, in row 0 with all others closed, and returns the
// logits of its tokens.
func Chunked(m gpu.Model, tokens, pages []int32, chunks ...int) ([][]float32, error) {
	s := stream{tokens: tokens, pages: pages}
	for i, n := range chunks {
		b := Batch(s.next(n))
		b.Reset = i == 0
		got, err := Run(m, b)
		if err != nil {
			return nil, err
		}
		s.took(got[0])
	}
	return s.logits, nil
}
