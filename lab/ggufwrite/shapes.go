package ggufwrite

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/gpu"
)

// Model is a model of random weights in the shape of a real one.
type Model struct {
	Arch         string // "llama", "qwen2" or "qwen3"
	Layers       int
	Hidden       int
	Intermediate int
	Heads        int
	KVHeads      int
	HeadDim      int
	Vocab        int
	Context      int
	Tied         bool // no output matrix
	// Type is that of all matrices. Where rows do not fill its blocks, the
	// type next to it with blocks of 32 is taken, or F16.
	Type gpu.DType
	// Medium keeps some matrices in Q6_K, as files of kind Q4_K_M do: the one of
	// the logits, and in half of the layers V and down.
	Medium bool
	Seed   uint64
}

// Shapes are the models that figures are published for, by name, without a type.
var Shapes = map[string]Model{
	"qwen2.5-0.5b": {Arch: "qwen2", Layers: 24, Hidden: 896, Intermediate: 4864, Heads: 14, KVHeads: 2, HeadDim: 64, Vocab: 151936, Context: 32768, Tied: true},
	"qwen2.5-1.5b": {Arch: "qwen2", Layers: 28, Hidden: 1536, Intermediate: 8960, Heads: 12, KVHeads: 2, HeadDim: 128, Vocab: 151936, Context: 32768, Tied: true},
	"qwen2.5-7b":   {Arch: "qwen2", Layers: 28, Hidden: 3584, Intermediate: 18944, Heads: 28, KVHeads: 4, HeadDim: 128, Vocab: 152064, Context: 32768},
	"qwen3-0.6b":   {Arch: "qwen3", Layers: 28, Hidden: 1024, Intermediate: 3072, Heads: 16, KVHeads: 8, HeadDim: 128, Vocab: 151936, Context: 40960, Tied: true},
	"qwen3-8b":     {Arch: "qwen3", Layers: 36, Hidden: 4096, Intermediate: 12288, Heads: 32, KVHeads: 8, HeadDim: 128, Vocab: 151936, Context: 40960},
	"llama-1b":     {Arch: "llama", Layers: 16, Hidden: 2048, Intermediate: 8192, Heads: 32, KVHeads: 8, HeadDim: 64, Vocab: 128256, Context: 131072, Tied: true},
	"llama-8b":     {Arch: "llama", Layers: 32, Hidden: 4096, Intermediate: 14336, Heads: 32, KVHeads: 8, HeadDim: 128, Vocab: 128256, Context: 131072},
}

// File is the model as a file, with a tokenizer of bytes.
func (m Model) File() File {
	f := File{Keys: m.keys()}
	add := func(name string, wanted gpu.DType, mean, deviation float64, shape ...int) {
		d := wanted
		if len(shape) > 1 {
			d = fitting(wanted, shape[1])
		}
		elements := int64(gpu.Elements(shape))
		seed := m.Seed<<32 + uint64(len(f.Tensors))
		f.Tensors = append(f.Tensors, Tensor{Name: name, Type: d, Wanted: wanted, Shape: shape, Data: Random(d, elements, mean, deviation, seed)})
	}
	matrix := func(name string, finer bool, outputs, inputs int) {
		d := m.Type
		if finer && m.Medium {
			d = gpu.Q6_K
		}
		add(name, d, 0, 1/math.Sqrt(float64(inputs)), outputs, inputs)
	}
	gain := func(name string, n int) { add(name, gpu.F32, 1, 0.05, n) }

	q, kv := m.Heads*m.HeadDim, m.KVHeads*m.HeadDim
	matrix("token_embd.weight", m.Tied, m.Vocab, m.Hidden)
	gain("output_norm.weight", m.Hidden)
	if !m.Tied {
		matrix("output.weight", true, m.Vocab, m.Hidden)
	}
	for l := range m.Layers {
		at := fmt.Sprintf("blk.%d.", l)
		gain(at+"attn_norm.weight", m.Hidden)
		matrix(at+"attn_q.weight", false, q, m.Hidden)
		matrix(at+"attn_k.weight", false, kv, m.Hidden)
		matrix(at+"attn_v.weight", m.sensitive(l), kv, m.Hidden)
		switch m.Arch {
		case "qwen2":
			add(at+"attn_q.bias", gpu.F32, 0, 0.02, q)
			add(at+"attn_k.bias", gpu.F32, 0, 0.02, kv)
			add(at+"attn_v.bias", gpu.F32, 0, 0.02, kv)
		case "qwen3":
			gain(at+"attn_q_norm.weight", m.HeadDim)
			gain(at+"attn_k_norm.weight", m.HeadDim)
		}
		matrix(at+"attn_output.weight", false, m.Hidden, q)
		gain(at+"ffn_norm.weight", m.Hidden)
		matrix(at+"ffn_gate.weight", false, m.Intermediate, m.Hidden)
		matrix(at+"ffn_up.weight", false, m.Intermediate, m.Hidden)
		matrix(at+"ffn_down.weight", m.sensitive(l), m.Hidden, m.Intermediate)
	}
	return f
}

// sensitive layers are llama.cpp's: the first and last eighth, every third in between.
func (m Model) sensitive(layer int) bool {
	eighth := m.Layers / 8
	return layer < eighth || layer >= 7*m.Layers/8 || (layer-eighth)%3 == 2
}

func (m Model) keys() []Key {
	a := m.Arch
	tokens, types := make([]string, m.Vocab), make([]int32, m.Vocab)
	other := rune(256)
	for i := range tokens {
		tokens[i], types[i] = fmt.Sprintf("<%d>", i), 1
		if i < 256 {
			// A byte's character: itself if printable, else the next from U+0100 on.
			tokens[i] = string(rune(i))
			if printable := i >= '!' && i <= '~' || i >= 0xA1 && i <= 0xAC || i >= 0xAE; !printable {
				tokens[i] = string(other)
				other++
			}
		}
	}
	return Keys(
		"general.architecture", a,
		"general.name", fmt.Sprintf("random %s", a),
		a+".context_length", uint32(m.Context),
		a+".embedding_length", uint32(m.Hidden),
		a+".block_count", uint32(m.Layers),
		a+".feed_forward_length", uint32(m.Intermediate),
		a+".attention.head_count", uint32(m.Heads),
		a+".attention.head_count_kv", uint32(m.KVHeads),
		a+".attention.key_length", uint32(m.HeadDim),
		a+".attention.value_length", uint32(m.HeadDim),
		a+".attention.layer_norm_rms_epsilon", float32(1e-6),
		a+".rope.freq_base", float32(1e6),
		a+".rope.dimension_count", uint32(m.HeadDim),
		a+".vocab_size", uint32(m.Vocab),
		"tokenizer.ggml.model", "gpt2",
		"tokenizer.ggml.pre", "gpt-2",
		"tokenizer.ggml.tokens", tokens,
		"tokenizer.ggml.token_type", types,
		"tokenizer.ggml.merges", []string{},
		"tokenizer.ggml.add_bos_token", false,
	)
}

// fitting is d, or llama.cpp's type for rows that do not fill d's blocks.
func fitting(d gpu.DType, row int) gpu.DType {
	if row%d.BlockLen() == 0 {
		return d
	}
	small := map[gpu.DType]gpu.DType{
		gpu.Q2_K: gpu.Q4_0, gpu.Q3_K: gpu.Q4_0, gpu.Q4_K: gpu.Q5_0, gpu.Q5_K: gpu.Q5_1, gpu.Q6_K: gpu.Q8_0, gpu.IQ4_XS: gpu.IQ4_NL,
	}
	if s, ok := small[d]; ok && row%s.BlockLen() == 0 {
		return s
	}
	return gpu.F16
}
