package config

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// Plausible sizes: several times those of any known model, small enough that
// no product of two overflows.
const (
	maxVocab        = 1 << 24
	maxHidden       = 1 << 17
	maxIntermediate = 1 << 20
	maxLayers       = 1 << 10
	maxHeads        = 1 << 12
	maxHeadDim      = 1 << 10
	maxContext      = 1 << 26
	// maxParameters is four times those of the largest open model known when this was written.
	maxParameters = 1 << 42
)

func parse(f fields, o Options) (*Config, error) {
	a := findFamily(f)
	refuseUnknown(f)
	if *f.err != nil {
		return nil, *f.err
	}
	c := &Config{
		Architecture: a.name,
		Vocab:        required(f, "vocab_size", 1, maxVocab),
		Hidden:       required(f, "hidden_size", 1, maxHidden),
		Intermediate: required(f, "intermediate_size", 1, maxIntermediate),
		Layers:       required(f, "num_hidden_layers", 1, maxLayers),
		Heads:        required(f, "num_attention_heads", 1, maxHeads),
		Context:      required(f, "max_position_embeddings", 1, maxContext),
		NormEps:      float32(number(f, "rms_norm_eps", 1e-30, 1, 1e-6)),
		QKVBias:      a.qkvBias,
		QKNorm:       a.qkNorm,
		Tied:         f.boolean("tie_word_embeddings"),
		DType:        dtype(f),
		BOS:          NoToken,
	}
	if a.optionalBias {
		c.QKVBias = f.boolean("attention_bias")
		c.OutBias = c.QKVBias
	}
	if a.mlpBias {
		c.MLPBias = f.boolean("mlp_bias")
	}
	if *f.err != nil {
		return nil, *f.err
	}
	parseHeads(f, a, c)
	c.Rope = parseRope(f, c)
	limitContext(f, a, c, o)
	c.EOS = f.tokens("eos_token_id", c.Vocab)
	if b := f.tokens("bos_token_id", c.Vocab); len(b) > 0 {
		c.BOS = b[0]
	}
	if *f.err != nil {
		return nil, *f.err
	}
	if n := c.Parameters(); n > maxParameters {
		return nil, fmt.Errorf("%s: the sizes amount to %d parameters, more than the supported %d; the file is damaged; download it again", f.where, n, int64(maxParameters))
	}
	return c, nil
}

// refuseUnknown stops at keys that change results in ways not implemented.
func refuseUnknown(f fields) {
	if f.has("quantization_config") {
		q := f.object("quantization_config")
		f.fail("quantization_config", "has quant_method %q, which is not supported; use the f32, f16 or bf16 weights of the model (weight-dtype saves memory), or a GGUF file of it", q.text("quant_method", "unknown"))
	}
	if act := f.text("hidden_act", "silu"); act != "silu" && act != "swish" {
		f.fail("hidden_act", "is %q, which is not supported; supported: silu", act)
	}
	if f.boolean("is_encoder_decoder") {
		f.fail("is_encoder_decoder", "is true; encoder-decoder models are not supported; supported: %s", architectures())
	}
}

func parseHeads(f fields, a family, c *Config) {
	kv := a.kvHeads
	if kv == 0 || f.isNull("num_key_value_heads") {
		kv = c.Heads
	}
	c.KVHeads = number(f, "num_key_value_heads", 1, maxHeads, kv)
	if c.Heads%c.KVHeads != 0 {
		f.fail("num_key_value_heads", "is %d, but %s is %d, which is not a multiple of it; use the model's original file", c.KVHeads, f.name("num_attention_heads"), c.Heads)
	}
	if f.has("head_dim") || a.headDim > 0 {
		c.HeadDim = number(f, "head_dim", 2, maxHeadDim, a.headDim)
	} else {
		c.HeadDim = c.Hidden / c.Heads
		if c.Hidden%c.Heads != 0 || c.HeadDim > maxHeadDim {
			f.fail("hidden_size", "is %d, which cannot be split into %d equal heads of at most %d elements, and %s is missing; use the model's original file", c.Hidden, c.Heads, maxHeadDim, f.name("head_dim"))
		}
	}
	if c.HeadDim%2 != 0 || c.HeadDim == 0 {
		f.fail("head_dim", "is %d; it must be even, because rope rotates pairs; use the model's original file", c.HeadDim)
	}
}

// limitContext applies Options.Context and refuses a sliding window that would
// hide anything within the context.
func limitContext(f fields, a family, c *Config, o Options) {
	if o.Context < 0 || o.Context > c.Context {
		f.fail("max_position_embeddings", "is %d, but context-length is %d; set context-length to at most %d", c.Context, o.Context, c.Context)
		return
	}
	if o.Context > 0 {
		c.Context = o.Context
	}
	window := 0 // none
	switch {
	case a.window == windowAlways && !f.isNull("sliding_window"):
		window = number(f, "sliding_window", 1, 1<<30, 4096)
	case a.window == windowSwitch && f.boolean("use_sliding_window") && !f.isNull("sliding_window"):
		if number(f, "max_window_layers", 0, 1<<20, 28) < c.Layers || f.has("layer_types") {
			window = number(f, "sliding_window", 1, 1<<30, 4096)
		}
	}
	layers := f.texts("layer_types")
	if len(layers) > 0 && !slices.Contains(layers, "sliding_attention") && a.window == windowSwitch {
		window = 0
	}
	for _, l := range layers {
		if l != "full_attention" && (l != "sliding_attention" || a.window == windowNever) {
			f.fail("layer_types", "has %q, which is not supported; supported: full_attention", l)
		}
	}
	if slices.Contains(layers, "sliding_attention") && window == 0 {
		f.fail("layer_types", "has sliding_attention without an active sliding_window; use the model's original file")
	}
	if window > 0 && window < c.Context {
		f.fail("sliding_window", "is %d, less than the context of %d tokens; sliding-window attention is not supported; set context-length to at most %d", window, c.Context, window)
	}
}

func dtype(f fields) gpu.DType {
	switch f.text("torch_dtype", f.text("dtype", "float32")) {
	case "float16":
		return gpu.F16
	case "bfloat16":
		return gpu.BF16
	}
	return gpu.F32
}
