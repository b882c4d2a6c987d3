package hf

import (
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/gguf"
)

// Config reads the configuration. A model has the biases that the file has tensors of.
func Config(f *gguf.File, o config.Options) (*config.Config, error) {
	a, err := architectureOf(f)
	if err != nil {
		return nil, err
	}
	if err := refuse(f, a.name); err != nil {
		return nil, err
	}
	k := &keys{reader: reader{f: f}, arch: a.name, out: config.Keys{
		Where: f.Name, Values: map[string]any{"architectures": []string{a.class}}, Generation: map[string]any{}, Names: map[string]string{},
	}}
	k.sizes()
	k.rope()
	k.window()
	k.tokens()
	k.sampling()
	if k.err != nil {
		return nil, k.err
	}
	c, err := config.FromKeys(k.out, o)
	if err != nil {
		return nil, err
	}
	if a.name != "qwen2" {
		c.QKVBias = f.Tensor("blk.0.attn_q.bias") != nil
	}
	c.OutBias = f.Tensor("blk.0.attn_output.bias") != nil
	c.MLPBias = f.Tensor("blk.0.ffn_gate.bias") != nil
	c.DType = gpu.BF16
	if t := f.Tensor(embedding); t != nil {
		c.DType = t.Type
	}
	return c, ropeFactors(f, c)
}

// keys carries metadata over to the keys of config.json.
type keys struct {
	reader
	arch string
	out  config.Keys
}

// take carries one value over and returns whether it was there.
func (k *keys) take(to, from string) bool {
	from = k.arch + "." + from
	k.out.Names[to] = from
	v, ok := k.f.Value(from)
	if ok {
		k.out.Values[to] = k.plain(from, v)
	}
	return ok
}

// plain converts a value to what config reads. A list of one value per layer
// becomes that value if all are equal.
func (k *keys) plain(key string, v gguf.Value) any {
	if list, ok := v.Ints(); ok && len(list) > 0 {
		for _, n := range list {
			if n != list[0] {
				k.fail("byte %d: %s differs by layer (%d and %d), which is not supported; use another model", v.At, key, list[0], n)
			}
		}
		return list[0]
	}
	if n, ok := v.Int(); ok {
		return n
	}
	if x, ok := v.Float(); ok && !math.IsNaN(x) && !math.IsInf(x, 0) {
		return x
	}
	if b, ok := v.Bool(); ok {
		return b
	}
	if s, ok := v.Text(); ok && len(s) < 64 {
		return s
	}
	return v.String() // config refuses it
}

func (k *keys) int(key string) (int64, bool) {
	v, ok := k.out.Values[key].(int64)
	return v, ok
}

func (k *keys) sizes() {
	k.take("max_position_embeddings", "context_length")
	k.take("hidden_size", "embedding_length")
	k.take("num_hidden_layers", "block_count")
	k.take("intermediate_size", "feed_forward_length")
	k.take("num_attention_heads", "attention.head_count")
	if !k.take("num_key_value_heads", "attention.head_count_kv") {
		k.out.Values["num_key_value_heads"] = k.out.Values["num_attention_heads"]
	}
	if !k.take("rms_norm_eps", "attention.layer_norm_rms_epsilon") {
		k.fail("%s.attention.layer_norm_rms_epsilon is missing; use the model's original file", k.arch)
	}
	if !k.take("head_dim", "attention.key_length") {
		// Unlike in config.json, the default is not the architecture's.
		hidden, _ := k.int("hidden_size")
		if heads, _ := k.int("num_attention_heads"); heads > 0 && hidden%heads == 0 {
			k.out.Values["head_dim"] = hidden / heads
		}
	}
	if !k.take("vocab_size", "vocab_size") {
		if t := k.f.Tensor(embedding); t != nil {
			k.out.Values["vocab_size"] = int64(t.Shape()[0])
		} else if v, ok := k.f.Value(ggml + "tokens"); ok {
			k.out.Values["vocab_size"] = int64(v.Len)
		}
	}
	k.out.Values["tie_word_embeddings"] = k.f.Tensor("output.weight") == nil
	k.same("attention.value_length", "a value head size that differs from the key head size")
	k.same("rope.dimension_count", "a partial rotary embedding")
}

// same refuses a length that differs from that of a head.
func (k *keys) same(key, what string) {
	key = k.arch + "." + key
	v, ok := k.f.Value(key)
	if !ok {
		return
	}
	n, isInt := k.plain(key, v).(int64)
	if dim, known := k.int("head_dim"); !isInt || known && n != dim {
		k.fail("byte %d: %s is %s, but a head has %d elements; %s is not supported; use another model", v.At, key, v, dim, what)
	}
}

// window carries over a sliding window, which config refuses if it would hide anything.
func (k *keys) window() {
	if !k.take("sliding_window", "attention.sliding_window") {
		return
	}
	if n, ok := k.int("sliding_window"); ok && n == 0 {
		delete(k.out.Values, "sliding_window")
		return
	}
	if k.arch == "llama" {
		k.out.Values["architectures"] = []string{"MistralForCausalLM"}
		return
	}
	k.out.Values["use_sliding_window"], k.out.Values["max_window_layers"] = true, 0
}

// sampling carries over what the file recommends.
func (k *keys) sampling() {
	for to, from := range map[string]string{
		"temperature": "temp", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p", "repetition_penalty": "penalty_repeat",
	} {
		from = "general.sampling." + from
		k.out.Names[to] = from
		if v, ok := k.f.Value(from); ok {
			k.out.Generation[to] = k.plain(from, v)
		}
	}
}
