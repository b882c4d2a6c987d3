package gputest

import (
	"fmt"
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu"
)

// longShape has a context of which a device may give parts to several workers.
var longShape = Shape{Name: "long", Vocab: 40, Hidden: 16, Layers: 1, Heads: 3, KVHeads: 1, HeadDim: 24, Inner: 12, Context: 2048}

// longTokens is prime to all page and block sizes.
const longTokens = 1107

// checkLong computes one long stream in several ways, the first of which is
// compared with the reference, the others with the first, bit for bit.
func checkLong(d gpu.Device, kv gpu.DType) error {
	p, w := Build(longShape, 21)
	random := rand.New(rand.NewPCG(21, uint64(kv)))
	tokens := randomTokens(random, longShape.Vocab, longTokens)
	spec := gpu.PoolSpec{PageSize: 16, Pages: (longTokens + 15) / 16, DType: kv}
	both, err := loadPair(d, p, w, spec)
	if err != nil {
		return err
	}
	defer both.close()
	all := stream{tokens: tokens}
	for i := range spec.Pages {
		all.pages = append(all.pages, int32(i+1))
	}
	got, want, err := both.step(all.next(len(tokens)))
	if err != nil {
		return err
	}
	if err := near(got[0].Logits, want[0].Logits, Tolerance(d.Info().Numerics, longShape.DType, kv)); err != nil {
		return err
	}
	for _, way := range []struct {
		pageSize, n int
		layout      gpu.Layout
		chunks      []int // the last one repeats
	}{
		{32, 1, gpu.Paged, []int{511, 2, 300}},
		{8, 3, gpu.Contiguous, []int{700, 390, 1}},
		{64, 2, gpu.Contiguous, []int{1, 1090, 5}},
	} {
		spec.PageSize, spec.Layout = way.pageSize, way.layout
		logits, err := feedChunks(both.model, p, tokens, spec, way.n, way.chunks, random)
		if err == nil {
			err = Same(logits, got[0].Logits)
		}
		if err != nil {
			return fmt.Errorf("%+v: %w", way, err)
		}
	}
	return nil
}

// feedChunks runs tokens through a new pool full of NaN, in chunks, beside n-1
// short streams that are computed again and again.
func feedChunks(m gpu.Model, p *gpu.Program, tokens []int32, spec gpu.PoolSpec, n int, chunks []int, random *rand.Rand) ([][]float32, error) {
	const others = 6
	each := (others + spec.PageSize - 1) / spec.PageSize
	spec.Pages = (len(tokens)+spec.PageSize-1)/spec.PageSize + (n-1)*each
	if err := m.NewPool(Pool(p, spec)); err != nil {
		return nil, err
	}
	if err := Poison(m, p, spec); err != nil {
		return nil, err
	}
	pages := newDealer(random, spec.Pages)
	long := &stream{tokens: tokens, pages: pages.deal(len(tokens), spec.PageSize)}
	var beside []Part
	for i := range n - 1 {
		p := Whole(randomTokens(random, p.Vocab, others), pages.deal(others, spec.PageSize))
		p.Row = gpu.Row(i + 1)
		beside = append(beside, p)
	}
	for long.fed < len(tokens) {
		b := Batch(append([]Part{long.next(chunks[0])}, beside...)...)
		if long.fed > 0 {
			for _, p := range beside {
				b.Closed = append(b.Closed, p.Row)
			}
		}
		results, err := Run(m, b)
		if err != nil {
			return nil, err
		}
		long.took(results[0])
		chunks = chunks[min(1, len(chunks)-1):]
	}
	return long.logits, nil
}
