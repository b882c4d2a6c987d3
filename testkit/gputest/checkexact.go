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
	chunks   []int // the last one repeats
	n        int   // streams in each step
	stale    bool  // the pool is full of NaN before
}

// ways, the first being the plainest: alone, in one step, pages in order.
var ways = []way{
	{"alone", 16, gpu.Contiguous, []int{132}, 1, false},
	{"paged layout", 16, gpu.Paged, []int{132}, 1, false},
	{"in chunks of 7", 16, gpu.Contiguous, []int{7}, 1, false},
	{"token by token", 16, gpu.Paged, []int{1}, 1, false},
	{"page size 1", 1, gpu.Contiguous, []int{132}, 1, false},
	{"page size 1, paged layout", 1, gpu.Paged, []int{132}, 1, false},
	{"page size 4", 4, gpu.Contiguous, []int{64}, 1, false},
	{"page size 128", 128, gpu.Paged, []int{33}, 1, false},
	{"over stale slots", 16, gpu.Contiguous, []int{10}, 1, true},
	{"in a batch of 64", 4, gpu.Paged, []int{50}, 64, true},
	{"token by token in a batch of 3", 1, gpu.Contiguous, []int{1}, 3, true},
}

// waysOfRows are those that differ in how many rows a step has.
var waysOfRows = []way{ways[0], ways[2], ways[3], ways[9]}

// waysOfFew are those of a device that is slow.
var waysOfFew = []way{ways[0], ways[2], ways[3], {"in a batch of 8", 4, gpu.Paged, []int{50}, 8, true}}

// waysOfLong are for longShape.
var waysOfLong = []way{
	{"in three chunks", 32, gpu.Paged, []int{511, 2, 300}, 1, true},
	{"beside two others", 8, gpu.Contiguous, []int{700, 390, 1}, 3, true},
	{"beside another one", 64, gpu.Contiguous, []int{1, 1090, 5}, 2, true},
}

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
		way.stale = way.stale && !s.Tied
		got, err := feed(model, p, tokens, kv, way, random)
		if want == nil {
			want = got
		}
		if err == nil {
			err = Same(got, want)
		}
		if err != nil {
			return fmt.Errorf("%s, KV %s: %w", way.name, kv, err)
		}
	}
	return model.Close()
}

// longShape has a context of which a device may give parts to several workers.
var longShape = Shape{Name: "long", Vocab: 40, Hidden: 16, Layers: 1, Heads: 3, KVHeads: 1, HeadDim: 24, Intermediate: 12, Context: 2048}

// longTokens is prime to all page and block sizes.
const longTokens = 1107

// checkLong computes one long stream in several ways. The first one is compared with
// the reference, the others with the first, bit for bit.
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
	for _, way := range waysOfLong {
		logits, err := feed(both.model, p, tokens, kv, way, random)
		if err == nil {
			err = Same(logits, got[0].Logits)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
	}
	return nil
}

// feed runs tokens through a new pool in chunks and returns their logits. The other
// streams of each step are short ones that are computed again and again.
func feed(m gpu.Model, p *gpu.Program, tokens []int32, kv gpu.DType, way way, random *rand.Rand) ([][]float32, error) {
	const others = 6 // tokens of the other streams
	each := (others + way.pageSize - 1) / way.pageSize
	spec := gpu.PoolSpec{PageSize: way.pageSize, Pages: (len(tokens)+way.pageSize-1)/way.pageSize + (way.n-1)*each, DType: kv, Layout: way.layout}
	if err := m.NewPool(Pool(p, spec)); err != nil {
		return nil, err
	}
	if way.stale {
		if err := Poison(m, p, spec); err != nil {
			return nil, err
		}
	}
	pages := newDealer(random, spec.Pages)
	streams := make([]*stream, way.n)
	mine := random.IntN(way.n)
	for i := range streams {
		t := tokens
		if i != mine {
			t = randomTokens(random, p.Vocab, others)
		}
		streams[i] = &stream{row: gpu.Row(i), tokens: t, pages: pages.deal(len(t), way.pageSize)}
	}
	for chunks := way.chunks; streams[mine].fed < len(tokens); chunks = chunks[min(1, len(chunks)-1):] {
		var parts []Part
		var closed []gpu.Row
		for i, q := range streams {
			size := chunks[0]
			if i != mine {
				size = 1 + random.IntN(others)
			}
			if q.fed == len(q.tokens) {
				closed = append(closed, q.row)
				q.fed, q.logits = 0, nil
			}
			parts = append(parts, q.next(size))
		}
		b := Batch(parts...)
		b.Closed = closed
		results, err := Run(m, b)
		if err != nil {
			return nil, err
		}
		for i, r := range results {
			streams[i].took(r)
		}
	}
	return streams[mine].logits, nil
}
