package gputest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// floats is a tensor of F32.
func floats(x []float32, shape ...int) gpu.Tensor {
	t := gpu.Tensor{DType: gpu.F32, Shape: shape, Data: make([]byte, 4*len(x))}
	quant.Quantize(gpu.F32, t.Data, x)
	return t
}

// randomMatrix has weights of deviation 1 in a type.
func randomMatrix(d gpu.DType, rows, cols int, random *rand.Rand) gpu.Tensor {
	b := builder{shape: Shape{DType: d}, program: &gpu.Program{}, tensors: Tensors{}, random: random}
	b.weight("m", 0, 1, rows, cols)
	return b.tensors["m"]
}

// checkElements reads every element of a matrix through the device: as embeddings, and
// as the results of a linear for inputs that are 0 except for a single 1, which are exact
// in int8 also. The embeddings are the logits, with one row for each token, so the matrix
// is square.
func checkElements(d gpu.Device, w gpu.DType) error {
	n := 3 * 32
	if w.BlockLen() > 32 {
		n = 2 * w.BlockLen()
	}
	matrix := randomMatrix(w, n, n, rand.New(rand.NewPCG(uint64(w), 11)))
	want := make([]float32, n*n)
	quant.Dequantize(w, want, matrix.Data)
	most := 0.0
	for _, x := range want {
		most = max(most, math.Abs(float64(x)))
	}
	// One rounding of float32 in scales and sums; half a step of q8_0 and what
	// the rounding of its scale to float16 moves.
	tolerance := 1e-6 * most
	if slices.Contains(d.Info().Requantised, w) {
		tolerance = most * (1.0/254 + 1.0/2048)
	}
	unit := make([]float32, n*n)
	for i := range n {
		unit[i*n+i] = 1
	}
	embed := gpu.Program{
		Name: "embed " + w.String(), Vocab: n, Context: n,
		Buffers: []gpu.BufferSpec{{Name: "x", Width: n}, {Name: "last", Width: n, PerOutput: true}, {Name: "logits", Width: n, PerOutput: true}},
		Weights: []gpu.WeightSpec{{Name: "table", Shape: []int{n, n}}},
		Ops:     []gpu.Op{gpu.Embed{Table: 0, Out: 0}, gpu.Gather{In: 0, Out: 1}, gpu.Sample{Logits: 1}},
	}
	linear := embed
	linear.Name = "linear " + w.String()
	linear.Weights = append(linear.Weights, gpu.WeightSpec{Name: "head", Shape: []int{n, n}})
	linear.Ops = []gpu.Op{embed.Ops[0], embed.Ops[1], gpu.Linear{In: 1, Out: 2, W: 1, Bias: gpu.NoWeight}, gpu.Sample{Logits: 2}}
	for _, c := range []struct {
		p      *gpu.Program
		w      Tensors
		across bool // the logits of a token are a column
	}{
		{&embed, Tensors{"table": matrix}, false},
		{&linear, Tensors{"table": floats(unit, n, n), "head": matrix}, true},
	} {
		err := everyToken(d, c.p, c.w, func(t int, row []float32) error {
			for i, x := range row {
				at := t*n + i
				if c.across {
					at = i*n + t
				}
				if !(math.Abs(float64(x)-float64(want[at])) <= tolerance) {
					return fmt.Errorf("%s: row %d, element %d is %v, want %v", c.p.Name, at/n, at%n, x, want[at])
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// everyToken hands the logits of each token of the vocabulary to a check, in
// steps of several, until it fails.
func everyToken(d gpu.Device, p *gpu.Program, w Tensors, check func(token int, logits []float32) error) error {
	for name, t := range w {
		t.Name = name
		w[name] = t
	}
	m, err := Load(d, p, w, gpu.PoolSpec{PageSize: 1024, Pages: 1})
	if err != nil {
		return err
	}
	defer m.Close()
	all := stream{pages: []int32{1}}
	for t := range p.Vocab {
		all.tokens = append(all.tokens, int32(t))
	}
	for all.fed < p.Vocab {
		got, err := Step(m, all.next(75))
		if err != nil {
			return err
		}
		for i, row := range got[0].Logits {
			if err := check(all.fed+i, row); err != nil {
				return err
			}
		}
		all.took(got[0])
	}
	return nil
}

// checkAttention runs attention over K and V that come straight from
// embeddings: they are the same bits on every device, and so is what is stored
// of them. So the tolerance is that of an F32 pool, whatever the pool's type, unless the
// device rounds more, and a K or V that is rounded otherwise shows. Each token and each head has a
// size of its own, as scales are per token and head.
func checkAttention(d gpu.Device, kv gpu.DType) error {
	const heads, kvHeads, dim = 6, 2, 20
	const vocab = heads * dim
	random := rand.New(rand.NewPCG(uint64(kv), 12))
	table := func(width int) gpu.Tensor {
		x := make([]float32, vocab*width)
		for i := 0; i < len(x); i += dim {
			size := math.Exp(random.NormFloat64())
			for j := range dim {
				x[i+j] = float32(size * random.NormFloat64())
			}
		}
		return floats(x, vocab, width)
	}
	p := &gpu.Program{
		Name: "attention", Vocab: vocab, Context: 256, KV: gpu.KVSpec{Layers: 1, Heads: kvHeads, HeadDim: dim},
		Buffers: []gpu.BufferSpec{{Name: "q", Width: heads * dim}, {Name: "k", Width: kvHeads * dim}, {Name: "v", Width: kvHeads * dim},
			{Name: "attended", Width: heads * dim}, {Name: "logits", Width: vocab, PerOutput: true}},
		Weights: []gpu.WeightSpec{{Name: "q", Shape: []int{vocab, heads * dim}}, {Name: "k", Shape: []int{vocab, kvHeads * dim}}, {Name: "v", Shape: []int{vocab, kvHeads * dim}}},
		Ops: []gpu.Op{gpu.Embed{Table: 0, Out: 0}, gpu.Embed{Table: 1, Out: 1}, gpu.Embed{Table: 2, Out: 2},
			gpu.StoreKV{K: 1, V: 2}, gpu.Attention{Q: 0, Out: 3, Heads: heads, Scale: 0.2}, gpu.Gather{In: 3, Out: 4}, gpu.Sample{Logits: 4}},
	}
	w := Tensors{"q": table(heads * dim), "k": table(kvHeads * dim), "v": table(kvHeads * dim)}
	for _, layout := range []gpu.Layout{gpu.Contiguous, gpu.Paged} {
		spec := gpu.PoolSpec{PageSize: 8, Pages: 30, DType: kv, Layout: layout}
		if err := attentionLike(d, p, w, spec, random); err != nil {
			return fmt.Errorf("layout %s: %w", layout, err)
		}
	}
	return nil
}

// attentionLike compares one stream in chunks with the reference.
func attentionLike(d gpu.Device, p *gpu.Program, w Tensors, spec gpu.PoolSpec, random *rand.Rand) error {
	both, err := loadPair(d, p, w, spec)
	if err != nil {
		return err
	}
	defer both.close()
	const n = 200
	s := stream{tokens: randomTokens(random, p.Vocab, n), pages: newDealer(random, spec.Pages).deal(n, spec.PageSize)}
	for s.fed < n {
		q := s.next(1 + random.IntN(80))
		got, want, err := both.step(q)
		if err != nil {
			return err
		}
		if err := near(got[0].Logits, want[0].Logits, Tolerance(gpu.Numerics{}, gpu.F32, gpu.F32)+rounding(d.Info().Attention, spec.DType)); err != nil {
			return fmt.Errorf("from position %d: %w", s.fed, err)
		}
		s.took(got[0])
	}
	return nil
}

// checkOtherTypes: types that the device does not list are refused by name, and a pool
// survives the attempt.
func checkOtherTypes(d gpu.Device) error {
	info := d.Info()
	for _, t := range gpu.WeightDTypes() {
		if slices.Contains(info.Weights, t) {
			continue
		}
		p, w := Build(quantisedShape(t, true), 13)
		m, err := d.Load(p, w, nil)
		if err == nil {
			m.Close()
			return fmt.Errorf("weights of %s load, but the device does not list them", t)
		}
		if !strings.Contains(err.Error(), "embed has type "+t.String()) {
			return fmt.Errorf("weights of %s: the error names not both the tensor and its type: %w", t, err)
		}
	}
	p, w := Build(Shapes()[3], 13)
	m, err := Load(d, p, w, gpu.PoolSpec{PageSize: 4, Pages: 2})
	if err != nil {
		return err
	}
	defer m.Close()
	for _, t := range gpu.KVDTypes() {
		if slices.Contains(info.KV, t) {
			continue
		}
		if err := m.NewPool(Pool(p, gpu.PoolSpec{PageSize: 4, Pages: 2, DType: t})); err == nil || !strings.Contains(err.Error(), t.String()) {
			return fmt.Errorf("a pool of %s, which the device does not list: %v", t, err)
		}
	}
	if _, err := Fresh(m, Whole([]int32{1}, []int32{1})); err != nil {
		return fmt.Errorf("after pools that were refused: %w", err)
	}
	return nil
}
