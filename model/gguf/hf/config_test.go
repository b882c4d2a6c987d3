package hf_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/gguf/hf"
	"github.com/troupe-engine/troupe/testkit/ggufdata"
)

// small is a model of a few KB.
func small(arch string) ggufwrite.Model {
	return ggufwrite.Model{Arch: arch, Layers: 2, Hidden: 64, Intermediate: 96, Heads: 4, KVHeads: 2, HeadDim: 16, Vocab: 300, Context: 128, Type: gpu.Q8_0}
}

func opened(t *testing.T, f ggufwrite.File) *gguf.File {
	t.Helper()
	var b bytes.Buffer
	if err := ggufwrite.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	file, err := gguf.Open(fstest.MapFS{"m.gguf": {Data: b.Bytes()}}, "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// with sets keys; a nil value removes one.
func with(f ggufwrite.File, pairs ...any) ggufwrite.File {
	for _, k := range ggufwrite.Keys(pairs...) {
		f.Keys = slices.DeleteFunc(slices.Clone(f.Keys), func(old ggufwrite.Key) bool { return old.Name == k.Name })
		if k.Value != nil {
			f.Keys = append(f.Keys, k)
		}
	}
	return f
}

// vector adds a small F32 tensor.
func vector(f ggufwrite.File, name string, values ...float32) ggufwrite.File {
	f.Tensors = append(slices.Clone(f.Tensors), ggufwrite.Tensor{Name: name, Type: gpu.F32, Shape: []int{len(values)}, Data: ggufdata.Floats(values...)})
	return f
}

func TestConfig(t *testing.T) {
	base := func(arch string) *config.Config {
		return &config.Config{
			Architecture: map[string]string{"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}[arch],
			Vocab:        300, Hidden: 64, Intermediate: 96, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, Context: 128, NormEps: 1e-6,
			Rope:    config.Rope{Theta: 1e6, Scaling: "default", Factor: 1},
			QKVBias: arch == "qwen2", QKNorm: arch == "qwen3", DType: gpu.Q8_0, BOS: config.NoToken,
		}
	}
	types := make([]int32, 300)
	types[260], types[261] = 3, 4
	tokens := small("llama").File().Keys
	at := slices.IndexFunc(tokens, func(k ggufwrite.Key) bool { return k.Name == "tokenizer.ggml.tokens" })
	list := slices.Clone(tokens[at].Value.([]string))
	list[260], list[261] = "<|im_end|>", "<|eot_id|>"
	var zero float32
	for name, c := range map[string]struct {
		arch string
		file func(ggufwrite.File) ggufwrite.File
		want func(*config.Config)
	}{
		"llama": {"llama", nil, nil},
		"qwen2": {"qwen2", nil, nil},
		"qwen3": {"qwen3", nil, nil},
		"lists of one value per layer": {"llama", func(f ggufwrite.File) ggufwrite.File {
			return with(f, "llama.attention.head_count_kv", []int32{2, 2}, "llama.feed_forward_length", []uint32{96, 96})
		}, nil},
		"what may be left out": {"llama", func(f ggufwrite.File) ggufwrite.File {
			return with(f, "llama.attention.key_length", nil, "llama.attention.value_length", nil, "llama.rope.dimension_count", nil, "llama.rope.freq_base", nil,
				"llama.vocab_size", nil, "llama.attention.head_count_kv", nil)
		}, func(c *config.Config) { c.KVHeads, c.Rope.Theta = 4, 10000 }},
		"qwen3 without a key length": {"qwen3", func(f ggufwrite.File) ggufwrite.File { return with(f, "qwen3.attention.key_length", nil) }, nil},
		"tied": {"llama", func(f ggufwrite.File) ggufwrite.File {
			f.Tensors = slices.DeleteFunc(slices.Clone(f.Tensors), func(x ggufwrite.Tensor) bool { return x.Name == "output.weight" })
			return f
		}, func(c *config.Config) { c.Tied = true }},
		"biases": {"llama", func(f ggufwrite.File) ggufwrite.File {
			return vector(vector(vector(f, "blk.0.attn_q.bias", 1), "blk.0.attn_output.bias", 1), "blk.0.ffn_gate.bias", 1)
		}, func(c *config.Config) { c.QKVBias, c.OutBias, c.MLPBias = true, true, true }},
		"linear": {"llama", func(f ggufwrite.File) ggufwrite.File {
			return with(f, "llama.rope.scaling.type", "linear", "llama.rope.scaling.factor", float32(4))
		}, func(c *config.Config) { c.Rope.Scaling, c.Rope.Factor = "linear", 4 }},
		"linear of old files": {"llama", func(f ggufwrite.File) ggufwrite.File { return with(f, "llama.rope.scale_linear", float32(2)) },
			func(c *config.Config) { c.Rope.Scaling, c.Rope.Factor = "linear", 2 }},
		"factor of one": {"llama", func(f ggufwrite.File) ggufwrite.File { return with(f, "llama.rope.scale_linear", float32(1)) }, nil},
		"no scaling": {"llama", func(f ggufwrite.File) ggufwrite.File {
			return with(f, "llama.rope.scaling.type", "none", "llama.rope.scaling.factor", float32(4))
		}, nil},
		"rope_freqs": {"llama", func(f ggufwrite.File) ggufwrite.File { return vector(f, "rope_freqs.weight", 1, 1, 1, 1, 2, 4, 8, 8) },
			func(c *config.Config) {
				c.Rope.Scaling, c.Rope.Factors = "factors", []float32{1, 1, 1, 1, 2, 4, 8, 8}
			}},
		"a window as long as the context": {"llama", func(f ggufwrite.File) ggufwrite.File { return with(f, "llama.attention.sliding_window", uint32(128)) },
			func(c *config.Config) { c.Architecture = "MistralForCausalLM" }},
		"no window": {"qwen2", func(f ggufwrite.File) ggufwrite.File { return with(f, "qwen2.attention.sliding_window", uint32(0)) }, nil},
		"experts: none": {"llama", func(f ggufwrite.File) ggufwrite.File {
			return with(f, "llama.expert_count", uint32(0), "llama.logit_scale", float32(1), "llama.attention.causal", true, "llama.attn_logit_softcapping", zero)
		}, nil},
		"ids": {"llama", func(f ggufwrite.File) ggufwrite.File {
			return with(f, "tokenizer.ggml.bos_token_id", uint32(7), "tokenizer.ggml.eos_token_id", uint32(8), "tokenizer.ggml.eot_token_id", int32(9),
				"tokenizer.ggml.eom_token_id", uint32(1<<32-1), "tokenizer.ggml.tokens", list, "tokenizer.ggml.token_type", types)
		}, func(c *config.Config) { c.BOS, c.EOS = 7, []int32{8, 9, 260} }},
		"usual ids": {"llama", func(f ggufwrite.File) ggufwrite.File { return with(f, "tokenizer.ggml.model", "llama") },
			func(c *config.Config) { c.BOS, c.EOS = 1, []int32{2} }},
		"sampling": {"llama", func(f ggufwrite.File) ggufwrite.File {
			return with(f, "general.sampling.temp", float32(0.5), "general.sampling.top_k", int32(20), "general.sampling.top_p", float32(0.75))
		}, func(c *config.Config) {
			temperature, p, k := float32(0.5), float32(0.75), int32(20)
			c.Generation = config.Generation{Temperature: &temperature, TopP: &p, TopK: &k}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, want := small(c.arch).File(), base(c.arch)
			if c.file != nil {
				f = c.file(f)
			}
			if c.want != nil {
				c.want(want)
			}
			file := opened(t, f)
			got, err := hf.Config(file, config.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if ends, err := hf.EndTokens(file); err != nil || !slices.Equal(ends, want.EOS) {
				t.Errorf("the end tokens are %v, %v; want %v", ends, err, want.EOS)
			}
		})
	}
}

func TestConfigRefuses(t *testing.T) {
	llama := small("llama").File()
	for name, c := range map[string]struct {
		file ggufwrite.File
		want []string
	}{
		"architecture":          {with(llama, "general.architecture", "phi3"), []string{`general.architecture is "phi3"`, "llama, qwen2, qwen3"}},
		"no architecture":       {with(llama, "general.architecture", nil), []string{"general.architecture is missing"}},
		"architecture's kind":   {with(llama, "general.architecture", true), []string{"general.architecture is true", "string"}},
		"adapter":               {with(llama, "general.type", "adapter"), []string{`general.type is "adapter"`}},
		"no context":            {with(llama, "llama.context_length", nil), []string{"llama.context_length is missing"}},
		"context":               {with(llama, "llama.context_length", "long"), []string{`llama.context_length is "long"`, "whole number"}},
		"layers":                {with(llama, "llama.block_count", uint32(1<<20)), []string{"llama.block_count is 1048576", "between 1 and 1024"}},
		"heads":                 {with(llama, "llama.attention.head_count_kv", uint32(3)), []string{"llama.attention.head_count_kv is 3", "llama.attention.head_count is 4, which is not a multiple"}},
		"heads by layer":        {with(llama, "llama.attention.head_count_kv", []int32{2, 4}), []string{"llama.attention.head_count_kv differs by layer", "2 and 4"}},
		"no eps":                {with(llama, "llama.attention.layer_norm_rms_epsilon", nil), []string{"layer_norm_rms_epsilon is missing"}},
		"values":                {with(llama, "llama.attention.value_length", uint32(32)), []string{"llama.attention.value_length is 32", "16 elements"}},
		"part of a head":        {with(llama, "llama.rope.dimension_count", uint32(8)), []string{"llama.rope.dimension_count is 8", "partial rotary embedding"}},
		"yarn":                  {with(llama, "llama.rope.scaling.type", "yarn", "llama.rope.scaling.factor", float32(4), "llama.rope.scaling.original_context_length", uint32(32)), []string{`llama.rope.scaling.type is of type "yarn"`, "set llama.context_length to 32"}},
		"linear alone":          {with(llama, "llama.rope.scaling.type", "linear"), []string{"llama.rope.scaling.factor is missing"}},
		"window":                {with(llama, "llama.attention.sliding_window", uint32(64)), []string{"llama.attention.sliding_window is 64", "at most"}},
		"window of qwen2":       {with(small("qwen2").File(), "qwen2.attention.sliding_window", uint32(64)), []string{"qwen2.attention.sliding_window is 64"}},
		"experts":               {with(llama, "llama.expert_count", uint32(8)), []string{"llama.expert_count is 8", "a mixture of experts (MoE)"}},
		"encoder":               {with(llama, "llama.attention.causal", false), []string{"llama.attention.causal is false"}},
		"capped":                {with(llama, "llama.final_logit_softcapping", float32(30)), []string{"final_logit_softcapping is 30"}},
		"longrope":              {vector(llama, "rope_factors_long.weight", 1), []string{"rope_factors_long.weight", "longrope"}},
		"factors' number":       {vector(llama, "rope_freqs.weight", 1, 2), []string{"rope_freqs.weight has type F32 and shape [2]", "[8]"}},
		"factor 0":              {vector(llama, "rope_freqs.weight", 1, 1, 0, 1, 1, 1, 1, 1), []string{"rope_freqs.weight has the value 0 at index 2"}},
		"factors and linear":    {with(vector(llama, "rope_freqs.weight", 1, 1, 1, 1, 1, 1, 1, 1), "llama.rope.scale_linear", float32(2)), []string{"rope_freqs.weight", `"linear"`}},
		"end outside":           {with(llama, "tokenizer.ggml.eos_token_id", uint32(300)), []string{"tokenizer.ggml.eos_token_id has token id 300"}},
		"end's kind":            {with(llama, "tokenizer.ggml.eot_token_id", "x"), []string{`tokenizer.ggml.eot_token_id is "x"`}},
		"temperature":           {with(llama, "general.sampling.temp", float32(-1)), []string{"general.sampling.temp is -1"}},
		"a product of extremes": {with(llama, "llama.block_count", uint32(1024), "llama.embedding_length", uint32(1<<17), "llama.feed_forward_length", uint32(1<<20), "llama.vocab_size", uint32(1<<24)), []string{"m.gguf", "parameters"}},
	} {
		_, err := hf.Config(opened(t, c.file), config.Options{})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, w := range append(c.want, "m.gguf") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", name, err, w)
			}
		}
	}
	if _, err := hf.Config(opened(t, llama), config.Options{Context: 129}); err == nil || !strings.Contains(err.Error(), "llama.context_length is 128") {
		t.Errorf("a context of 129: %v", err)
	}
}

func TestEndTokensAlone(t *testing.T) {
	llama := small("llama").File()
	for name, c := range map[string]struct {
		file  ggufwrite.File
		want  []int32
		fails string
	}{
		"another architecture": {with(llama, "general.architecture", "other", "tokenizer.ggml.eos_token_id", uint32(8)), []int32{8}, ""},
		"the same twice":       {with(llama, "tokenizer.ggml.eos_token_id", uint32(8), "tokenizer.ggml.eot_token_id", uint32(8)), []int32{8}, ""},
		"none":                 {with(llama, "tokenizer.ggml.tokens", nil), nil, ""},
		"outside":              {with(llama, "tokenizer.ggml.eos_token_id", uint32(300)), nil, "token 300"},
		"of a wrong type":      {with(llama, "tokenizer.ggml.eos_token_id", "x"), nil, "tokenizer.ggml.eos_token_id"},
	} {
		got, err := hf.EndTokens(opened(t, c.file))
		if !slices.Equal(got, c.want) || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, %v; want %v, %s", name, got, err, c.want, c.fails)
		}
	}
}
