package gputest

import (
	"fmt"
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu"
)

// checkReference feeds streams of different lengths in random chunks, mixed
// with each other, to the device and to gpu/ref and compares all logits.
func checkReference(d gpu.Device, s Shape, kv gpu.DType, seed uint64) error {
	p, w := Build(s, seed)
	spec := gpu.PoolSpec{PageSize: 4, Pages: 120, DType: kv, Layout: gpu.Layout(seed % 2)}
	both, err := loadPair(d, p, w, spec)
	if err != nil {
		return err
	}
	defer both.close()
	if !s.Tied {
		if err := Poison(both.model, p, spec); err != nil {
			return err
		}
	}
	random := rand.New(rand.NewPCG(seed, 2))
	pages := newDealer(random, spec.Pages)
	var streams []*stream
	for i, n := range []int{1, 2, 7, 64, 65, 130} {
		streams = append(streams, &stream{row: gpu.Row(i), tokens: randomTokens(random, s.Vocab, n), pages: pages.deal(n, spec.PageSize)})
	}
	for {
		var parts []Part
		var in []*stream
		for _, q := range streams {
			if q.fed < len(q.tokens) && random.IntN(4) > 0 {
				parts, in = append(parts, q.next(1+random.IntN(70))), append(in, q)
			}
		}
		got, want, err := both.step(parts...)
		if err != nil {
			return err
		}
		left := false
		for i, q := range in {
			if err := near(got[i].Logits, want[i].Logits, Tolerance(d.Info().Numerics, s.DType, kv)); err != nil {
				return fmt.Errorf("stream of %d tokens, from position %d: %w", len(q.tokens), q.fed, err)
			}
			q.took(got[i])
		}
		for _, q := range streams {
			left = left || q.fed < len(q.tokens)
		}
		if !left {
			return nil
		}
	}
}

// way is how a stream is computed.
type way struct {
	name     string
	pageSize int
	layout   gpu.Layout
	chunk, n int // n: sequences in each step
	stale    bool
}

// ways, the first being the plainest: alone, in one step, pages in order.
var ways = []way{
	{"alone", 16, gpu.Contiguous, 132, 1, false},
	{"paged layout", 16, gpu.Paged, 132, 1, false},
	{"in chunks of 7", 16, gpu.Contiguous, 7, 1, false},
	{"token by token", 16, gpu.Paged, 1, 1, false},
	{"page size 1", 1, gpu.Contiguous, 132, 1, false},
	{"page size 1, paged layout", 1, gpu.Paged, 132, 1, false},
	{"page size 4", 4, gpu.Contiguous, 64, 1, false},
	{"page size 128", 128, gpu.Paged, 33, 1, false},
	{"over stale slots", 16, gpu.Contiguous, 10, 1, true},
	{"in a batch of 64", 4, gpu.Paged, 50, 64, true},
	{"token by token in a batch of 3", 1, gpu.Contiguous, 1, 3, true},
}

// waysOfRows are those that differ in how many rows a step has.
var waysOfRows = []way{ways[0], ways[2], ways[3], ways[9]}

// checkExact computes one stream in several ways, which must agree to the bit
// with the first.
func checkExact(d gpu.Device, s Shape, kv gpu.DType, seed uint64, ways []way) error {
	p, w := Build(s, seed)
	random := rand.New(rand.NewPCG(seed, 3))
	tokens := randomTokens(random, s.Vocab, 132) // into a third block of 64
	model, err := d.Load(p, w, nil)
	if err != nil {
		return err
	}
	defer model.Close()
	var want [][]float32
	for _, way := range ways {
		got, err := feed(model, p, tokens, gpu.PoolSpec{PageSize: way.pageSize, DType: kv, Layout: way.layout}, way.chunk, way.n, way.stale && !s.Tied, random)
		if err != nil {
			return fmt.Errorf("%s, KV %s: %w", way.name, kv, err)
		}
		if want == nil {
			want = got
		}
		if err := Same(got, want); err != nil {
			return fmt.Errorf("%s, KV %s: %w", way.name, kv, err)
		}
	}
	return model.Close()
}

// feed runs tokens through a new pool in chunks, beside n-1 other streams, and
// returns their logits. It chooses the number of pages.
func feed(m gpu.Model, p *gpu.Program, tokens []int32, spec gpu.PoolSpec, chunk, n int, stale bool, random *rand.Rand) ([][]float32, error) {
	const others = 6 // tokens of the other streams
	pageSize := spec.PageSize
	spec.Pages = (len(tokens)+pageSize-1)/pageSize + (n-1)*((others+pageSize-1)/pageSize)
	if err := m.NewPool(Pool(p, spec)); err != nil {
		return nil, err
	}
	if stale {
		if err := Poison(m, p, spec); err != nil {
			return nil, err
		}
	}
	pages := newDealer(random, spec.Pages)
	streams := make([]*stream, n)
	mine := random.IntN(n)
	for i := range streams {
		t := randomTokens(random, p.Vocab, others)
		if i == mine {
			t = tokens
		}
		streams[i] = &stream{row: gpu.Row(i), tokens: t, pages: pages.deal(len(t), pageSize)}
	}
	for streams[mine].fed < len(tokens) {
		var parts []Part
		var in []*stream
		for i, q := range streams {
			size := chunk
			if i != mine {
				size = 1 + random.IntN(2)
			}
			if q.fed < len(q.tokens) {
				parts, in = append(parts, q.next(size)), append(in, q)
			}
		}
		results, err := Step(m, parts...)
		if err != nil {
			return nil, err
		}
		for i, r := range results {
			in[i].took(r)
		}
	}
	return streams[mine].logits, nil
}
