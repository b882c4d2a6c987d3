// Package arch emits the gpu.Program of a model from its configuration. Weights
// have Hugging Face's tensor names.
//
// All implemented architectures are one kind of transformer (pre-norm,
// rotary positions, grouped-query attention, gated SiLU MLP); they differ in
// biases, in the norm of queries and keys, and in what config.Load reads.
package arch

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/config"
)

// Program emits a model's program. Layers use the same buffers.
func Program(c *config.Config) (*gpu.Program, error) {
	b := &builder{c: c, weights: map[string]gpu.Weight{}, p: &gpu.Program{
		Name:    fmt.Sprintf("%s %s", c.Architecture, size(c.Parameters())),
		KV:      gpu.KVSpec{Layers: c.Layers, Heads: c.KVHeads, HeadDim: c.HeadDim},
		Vocab:   c.Vocab,
		Context: c.Context,
	}}
	freq, err := InvFreq(c.HeadDim, c.Rope)
	if err != nil {
		return nil, err
	}
	b.invFreq = freq
	b.declare()
	b.emit(gpu.Embed{Table: b.matrix(embedding, c.Vocab, c.Hidden), Out: b.residual})
	for l := range c.Layers {
		b.attention(l)
		b.mlp(l)
	}
	b.emit(gpu.Gather{In: b.residual, Out: b.last})
	b.norm(b.last, b.last, "model.norm.weight", c.Hidden)
	out := "lm_head"
	if c.Tied {
		out = "model.embed_tokens"
	}
	b.linear(b.last, b.logits, out, false, false)
	b.emit(gpu.Sample{Logits: b.logits})
	return b.p, b.p.Check()
}

const embedding = "model.embed_tokens.weight"

type builder struct {
	c       *config.Config
	p       *gpu.Program
	weights map[string]gpu.Weight // by name, so that tied ones are one
	invFreq []float64

	residual, normed gpu.Buffer // [tokens, hidden]
	q, mixed         gpu.Buffer // [tokens, heads x head_dim]
	k, v             gpu.Buffer // [tokens, KV heads x head_dim]
	gate, up         gpu.Buffer // [tokens, intermediate]
	last             gpu.Buffer // [outputs, hidden]
	logits           gpu.Buffer // [outputs, vocab]
}

func (b *builder) declare() {
	c := b.c
	b.residual = b.buffer("residual", c.Hidden, false)
	b.normed = b.buffer("normed", c.Hidden, false)
	b.q = b.buffer("q", c.Heads*c.HeadDim, false)
	b.k = b.buffer("k", c.KVHeads*c.HeadDim, false)
	b.v = b.buffer("v", c.KVHeads*c.HeadDim, false)
	b.mixed = b.buffer("mixed", c.Heads*c.HeadDim, false)
	b.gate = b.buffer("gate", c.Intermediate, false)
	b.up = b.buffer("up", c.Intermediate, false)
	b.last = b.buffer("last", c.Hidden, true)
	b.logits = b.buffer("logits", c.Vocab, true)
}

func (b *builder) attention(l int) {
	c, at := b.c, fmt.Sprintf("model.layers.%d.", l)
	self := at + "self_attn."
	b.norm(b.residual, b.normed, at+"input_layernorm.weight", c.Hidden)
	b.linear(b.normed, b.q, self+"q_proj", c.QKVBias, false)
	b.linear(b.normed, b.k, self+"k_proj", c.QKVBias, false)
	b.linear(b.normed, b.v, self+"v_proj", c.QKVBias, false)
	if c.QKNorm {
		b.norm(b.q, b.q, self+"q_norm.weight", c.HeadDim)
		b.norm(b.k, b.k, self+"k_norm.weight", c.HeadDim)
	}
	b.emit(gpu.Rope{X: b.q, HeadDim: c.HeadDim, InvFreq: b.invFreq, Scale: 1})
	b.emit(gpu.Rope{X: b.k, HeadDim: c.HeadDim, InvFreq: b.invFreq, Scale: 1})
	b.emit(gpu.StoreKV{K: b.k, V: b.v, Layer: l})
	b.emit(gpu.Attention{Q: b.q, Out: b.mixed, Layer: l, Heads: c.Heads, Scale: float32(1 / math.Sqrt(float64(c.HeadDim)))})
	b.linear(b.mixed, b.residual, self+"o_proj", c.OutBias, true)
}

func (b *builder) mlp(l int) {
	c, at := b.c, fmt.Sprintf("model.layers.%d.", l)
	b.norm(b.residual, b.normed, at+"post_attention_layernorm.weight", c.Hidden)
	b.linear(b.normed, b.gate, at+"mlp.gate_proj", c.MLPBias, false)
	b.linear(b.normed, b.up, at+"mlp.up_proj", c.MLPBias, false)
	b.emit(gpu.SiluMul{Gate: b.gate, Up: b.up, Out: b.gate})
	b.linear(b.gate, b.residual, at+"mlp.down_proj", c.MLPBias, true)
}

func (b *builder) emit(op gpu.Op) { b.p.Ops = append(b.p.Ops, op) }

func (b *builder) buffer(name string, width int, perOutput bool) gpu.Buffer {
	b.p.Buffers = append(b.p.Buffers, gpu.BufferSpec{Name: name, Width: width, PerOutput: perOutput})
	return gpu.Buffer(len(b.p.Buffers) - 1)
}

func (b *builder) matrix(name string, shape ...int) gpu.Weight {
	if w, ok := b.weights[name]; ok {
		return w
	}
	w := gpu.Weight(len(b.p.Weights))
	b.p.Weights = append(b.p.Weights, gpu.WeightSpec{Name: name, Shape: shape})
	b.weights[name] = w
	return w
}

func (b *builder) norm(in, out gpu.Buffer, gain string, group int) {
	b.emit(gpu.RMSNorm{In: in, Out: out, Gain: b.matrix(gain, group), Group: group, Eps: b.c.NormEps})
}

// linear multiplies by the module's weight, as wide as the buffers, and adds its bias.
func (b *builder) linear(in, out gpu.Buffer, module string, bias, accumulate bool) {
	inputs, outputs := b.p.Buffers[in].Width, b.p.Buffers[out].Width
	op := gpu.Linear{In: in, Out: out, W: b.matrix(module+".weight", outputs, inputs), Bias: gpu.NoWeight, Accumulate: accumulate}
	if bias {
		op.Bias = b.matrix(module+".bias", outputs)
	}
	b.emit(op)
}

// size formats a number of parameters for people, such as "7.0B".
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1fB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0fK", float64(n)/1e3)
}
