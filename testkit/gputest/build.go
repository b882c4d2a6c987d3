package gputest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// builder collects a program and the weights it names.
type builder struct {
	shape   Shape
	program *gpu.Program
	tensors Tensors
	random  *rand.Rand
}

// Tensors implements gpu.Weights.
type Tensors map[string]gpu.Tensor

// Tensor implements gpu.Weights.
func (t Tensors) Tensor(name string) (gpu.Tensor, error) {
	if x, ok := t[name]; ok {
		return x, nil
	}
	return gpu.Tensor{}, fmt.Errorf("tensor %q is not among the %d made for the test", name, len(t))
}

// Build makes a program and random weights of a seed. With an untied output
// matrix the last token's embedding is zero and the first norm adds no epsilon,
// so that 0/0 fills the KV slot of a row that computes this token with
// NaN (see Poison).
func Build(s Shape, seed uint64) (*gpu.Program, Tensors) {
	b := &builder{
		shape: s, tensors: Tensors{}, random: rand.New(rand.NewPCG(seed, 1)),
		program: &gpu.Program{
			Name: s.Name, Vocab: s.Vocab, Context: s.Context,
			KV: gpu.KVSpec{Layers: s.Layers, Heads: s.KVHeads, HeadDim: s.HeadDim},
		},
	}
	b.emit()
	if !s.Tied {
		t := b.tensors["embed"]
		clear(t.Data[(s.Vocab-1)*t.DType.Bytes(s.Hidden):])
		for i, op := range b.program.Ops {
			if norm, is := op.(gpu.RMSNorm); is {
				norm.Eps = 0
				b.program.Ops[i] = norm
				break
			}
		}
	}
	return b.program, b.tensors
}

// buffer declares a buffer.
func (b *builder) buffer(name string, width int, perOutput bool) gpu.Buffer {
	b.program.Buffers = append(b.program.Buffers, gpu.BufferSpec{Name: name, Width: width, PerOutput: perOutput})
	return gpu.Buffer(len(b.program.Buffers) - 1)
}

// weight makes a random tensor: normal around mean with a deviation, or of
// random blocks with that deviation where there is no encoder.
func (b *builder) weight(name string, mean, deviation float64, shape ...int) gpu.Weight {
	n := gpu.Elements(shape)
	d := b.shape.dtypeOf(shape)
	data := make([]byte, d.Bytes(n))
	if quant.CanQuantize(d) {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(mean + deviation*b.random.NormFloat64())
		}
		quant.Quantize(d, data, x)
	} else {
		quant.Random(d, data, deviation, b.random.Uint64)
	}
	b.tensors[name] = gpu.Tensor{Name: name, DType: d, Shape: shape, Data: data}
	b.program.Weights = append(b.program.Weights, gpu.WeightSpec{Name: name, Shape: shape})
	return gpu.Weight(len(b.program.Weights) - 1)
}

// matrix keeps the scale of its input; spread is the deviation of its output
// for inputs of deviation 1.
func (b *builder) matrix(name string, out, in int, spread float64) gpu.Weight {
	return b.weight(name, 0, spread/math.Sqrt(float64(in)), out, in)
}

func (b *builder) op(op gpu.Op) { b.program.Ops = append(b.program.Ops, op) }

func (b *builder) norm(name string, in, out gpu.Buffer, group int) {
	b.op(gpu.RMSNorm{In: in, Out: out, Gain: b.weight(name, 1, 0.2, group), Group: group, Eps: 1e-2})
}

// linear adds a Linear, with a bias if wanted.
func (b *builder) linear(name string, in, out gpu.Buffer, bias, accumulate bool) {
	wide := b.program.Buffers
	op := gpu.Linear{In: in, Out: out, Bias: gpu.NoWeight, Accumulate: accumulate}
	op.W = b.matrix(name, wide[out].Width, wide[in].Width, 1)
	if bias {
		op.Bias = b.weight(name+".bias", 0, 0.5, wide[out].Width)
	}
	b.op(op)
}

func (b *builder) emit() {
	s := b.shape
	x, normed := b.buffer("x", s.Hidden, false), b.buffer("normed", s.Hidden, false)
	q, attended := b.buffer("q", s.Heads*s.HeadDim, false), b.buffer("attended", s.Heads*s.HeadDim, false)
	k, v := b.buffer("k", s.KVHeads*s.HeadDim, false), b.buffer("v", s.KVHeads*s.HeadDim, false)
	gate, up := b.buffer("gate", s.Intermediate, false), b.buffer("up", s.Intermediate, false)
	last, logits := b.buffer("last", s.Hidden, true), b.buffer("logits", s.Vocab, true)

	var inverse []float64
	for i := range s.HeadDim / 2 {
		inverse = append(inverse, math.Pow(10000, -2*float64(i)/float64(s.HeadDim)))
	}
	spread := 1.0
	if s.Tied { // or the logits would be too far apart to sample from
		spread = 2 / math.Sqrt(float64(s.Hidden))
	}
	table := b.weight("embed", 0, spread, s.Vocab, s.Hidden)
	b.op(gpu.Embed{Table: table, Out: x})
	for l := range s.Layers {
		at := func(name string) string { return fmt.Sprintf("layer.%d.%s", l, name) }
		b.norm(at("norm"), x, normed, s.Hidden)
		b.linear(at("q"), normed, q, s.Bias, false)
		b.linear(at("k"), normed, k, s.Bias, false)
		b.linear(at("v"), normed, v, s.Bias, false)
		if s.QKNorm {
			b.norm(at("qnorm"), q, q, s.HeadDim)
			b.norm(at("knorm"), k, k, s.HeadDim)
		}
		b.op(gpu.Rope{X: q, HeadDim: s.HeadDim, InvFreq: inverse, Scale: 1})
		b.op(gpu.Rope{X: k, HeadDim: s.HeadDim, InvFreq: inverse, Scale: 1})
		b.op(gpu.StoreKV{K: k, V: v, Layer: l})
		b.op(gpu.Attention{Q: q, Out: attended, Layer: l, Heads: s.Heads, Scale: float32(1 / math.Sqrt(float64(s.HeadDim)))})
		b.linear(at("o"), attended, x, false, true)
		b.norm(at("norm2"), x, normed, s.Hidden)
		b.linear(at("gate"), normed, gate, false, false)
		b.linear(at("up"), normed, up, false, false)
		b.op(gpu.SiluMul{Gate: gate, Up: up, Out: gate})
		b.linear(at("down"), gate, x, false, true)
	}
	b.op(gpu.Gather{In: x, Out: last})
	b.norm("norm", last, last, s.Hidden)
	if s.Tied {
		b.op(gpu.Linear{In: last, Out: logits, W: table, Bias: gpu.NoWeight})
	} else {
		b.linear("head", last, logits, false, false)
	}
	b.op(gpu.Sample{Logits: logits})
}
