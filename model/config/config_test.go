package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/gpu"
)

// keys is a configuration under construction.
type keys map[string]any

// base has every key that all architectures need.
func base(arch string, extra keys) keys {
	k := keys{
		"architectures": []string{arch}, "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 96,
		"num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 4096,
	}
	maps.Copy(k, extra)
	return k
}

func load(t *testing.T, k keys, generation string, o Options) (*Config, error) {
	t.Helper()
	data, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{File: {Data: data}}
	if generation != "" {
		fsys[GenerationFile] = &fstest.MapFile{Data: []byte(generation)}
	}
	return Load(fsys, o)
}

func TestLoadEachArchitecture(t *testing.T) {
	plain := Rope{Theta: 10000, Scaling: "default", Factor: 1}
	cases := []struct {
		name string
		keys keys
		want Config
	}{
		{"llama 2, many-headed, old keys", keys{
			"model_type": "llama", "vocab_size": 32000, "hidden_size": 64, "intermediate_size": 172, "num_hidden_layers": 3,
			"num_attention_heads": 4, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_scaling": nil,
			"torch_dtype": "float16", "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": -1,
		}, Config{Architecture: "LlamaForCausalLM", Vocab: 32000, Hidden: 64, Intermediate: 172, Layers: 3, Heads: 4, KVHeads: 4,
			HeadDim: 16, Context: 2048, NormEps: 1e-5, Rope: plain, DType: gpu.F16, BOS: 1, EOS: []int32{2}}},
		{"llama 3.1", base("LlamaForCausalLM", keys{
			"rope_theta": 500000.0, "eos_token_id": []int{7, 8, 9}, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
			"rope_scaling": keys{"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"},
		}), Config{Architecture: "LlamaForCausalLM", Vocab: 1000, Hidden: 64, Intermediate: 96, Layers: 2, Heads: 8, KVHeads: 2, HeadDim: 8,
			Context: 4096, NormEps: 1e-6, Tied: true, DType: gpu.BF16, BOS: NoToken, EOS: []int32{7, 8, 9},
			Rope: Rope{Theta: 500000, Scaling: "llama3", Factor: 8, LowFreq: 1, HighFreq: 4, Original: 8192}}},
		{"llama with biases and linear scaling", base("LlamaForCausalLM", keys{
			"attention_bias": true, "mlp_bias": true, "rope_scaling": keys{"type": "linear", "factor": 2},
		}), Config{Architecture: "LlamaForCausalLM", Vocab: 1000, Hidden: 64, Intermediate: 96, Layers: 2, Heads: 8, KVHeads: 2, HeadDim: 8,
			Context: 4096, NormEps: 1e-6, QKVBias: true, OutBias: true, MLPBias: true, BOS: NoToken,
			Rope: Rope{Theta: 10000, Scaling: "linear", Factor: 2}}},
		{"mistral", base("MistralForCausalLM", keys{"sliding_window": nil, "head_dim": 16, "rope_theta": 1e6}),
			Config{Architecture: "MistralForCausalLM", Vocab: 1000, Hidden: 64, Intermediate: 96, Layers: 2, Heads: 8, KVHeads: 2, HeadDim: 16,
				Context: 4096, NormEps: 1e-6, BOS: NoToken, Rope: Rope{Theta: 1e6, Scaling: "default", Factor: 1}}},
		{"mistral, window of the whole context by default", base("MistralForCausalLM", nil),
			Config{Architecture: "MistralForCausalLM", Vocab: 1000, Hidden: 64, Intermediate: 96, Layers: 2, Heads: 8, KVHeads: 2, HeadDim: 8,
				Context: 4096, NormEps: 1e-6, BOS: NoToken, Rope: plain}},
		{"qwen2", base("Qwen2ForCausalLM", keys{"use_sliding_window": false, "sliding_window": 32, "max_window_layers": 1, "num_key_value_heads": 1}),
			Config{Architecture: "Qwen2ForCausalLM", Vocab: 1000, Hidden: 64, Intermediate: 96, Layers: 2, Heads: 8, KVHeads: 1, HeadDim: 8,
				Context: 4096, NormEps: 1e-6, QKVBias: true, BOS: NoToken, Rope: plain}},
		{"qwen2, window on no layer", base("Qwen2ForCausalLM", keys{"use_sliding_window": true, "sliding_window": 32, "max_window_layers": 2}),
			Config{Architecture: "Qwen2ForCausalLM", Vocab: 1000, Hidden: 64, Intermediate: 96, Layers: 2, Heads: 8, KVHeads: 2, HeadDim: 8,
				Context: 4096, NormEps: 1e-6, QKVBias: true, BOS: NoToken, Rope: plain}},
		{"qwen3, keys of transformers 5", base("Qwen3ForCausalLM", keys{
			"rope_parameters": keys{"rope_theta": 1000000, "rope_type": "default"}, "dtype": "bfloat16", "layer_types": []string{"full_attention", "full_attention"},
		}), Config{Architecture: "Qwen3ForCausalLM", Vocab: 1000, Hidden: 64, Intermediate: 96, Layers: 2, Heads: 8, KVHeads: 2, HeadDim: 128,
			Context: 4096, NormEps: 1e-6, QKNorm: true, DType: gpu.BF16, BOS: NoToken, Rope: Rope{Theta: 1e6, Scaling: "default", Factor: 1}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := load(t, c.keys, "", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, c.want) {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
		})
	}
}

func TestLoadRefusesByName(t *testing.T) {
	llama := func(k keys) keys { return base("LlamaForCausalLM", k) }
	yarn := keys{"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}
	cases := []struct {
		name string
		keys keys
		want []string // all of them are in the error
	}{
		{"architecture", base("GemmaForCausalLM", nil), []string{"config.json", "architectures", "GemmaForCausalLM", "LlamaForCausalLM, MistralForCausalLM"}},
		{"no architecture", keys{"vocab_size": 3}, []string{"architectures is missing", "model_type", "not supported"}},
		{"multimodal", keys{"architectures": []string{"LlavaForConditionalGeneration"}, "text_config": keys{}}, []string{"text_config", "multimodal"}},
		{"quantised", llama(keys{"quantization_config": keys{"quant_method": "gptq"}}), []string{"quantization_config", "gptq", "bf16"}},
		{"activation", llama(keys{"hidden_act": "gelu"}), []string{"hidden_act", "gelu", "silu"}},
		{"yarn", llama(keys{"rope_scaling": yarn}), []string{"rope_scaling", "yarn", "llama3", "max_position_embeddings to 2048"}},
		{"dynamic", llama(keys{"rope_parameters": keys{"rope_type": "dynamic", "factor": 2}}), []string{"rope_parameters", "dynamic"}},
		{"rope by layer", llama(keys{"rope_parameters": keys{"full_attention": keys{}}}), []string{"rope_parameters", "full_attention"}},
		{"partial rotation", llama(keys{"partial_rotary_factor": 0.5}), []string{"partial_rotary_factor", "0.5"}},
		{"llama3 without a key", llama(keys{"rope_scaling": keys{"rope_type": "llama3", "factor": 8, "low_freq_factor": 1}}), []string{"rope_scaling", "high_freq_factor", "missing"}},
		{"llama3 crossed", llama(keys{"rope_scaling": keys{"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4, "original_max_position_embeddings": 8}}), []string{"high_freq_factor", "low_freq_factor"}},
		{"mistral window", base("MistralForCausalLM", keys{"sliding_window": 1024}), []string{"sliding_window", "1024", "context-length to at most 1024"}},
		{"mistral default window", base("MistralForCausalLM", keys{"max_position_embeddings": 8192}), []string{"sliding_window", "4096"}},
		{"qwen window", base("Qwen2ForCausalLM", keys{"use_sliding_window": true, "sliding_window": 64, "max_window_layers": 1}), []string{"sliding_window", "64"}},
		{"layer types", base("Qwen3ForCausalLM", keys{"layer_types": []string{"linear_attention"}}), []string{"layer_types", "linear_attention"}},
		{"zero heads", llama(keys{"num_attention_heads": 0}), []string{"num_attention_heads", "is 0", "between 1"}},
		{"negative width", llama(keys{"hidden_size": -64}), []string{"hidden_size", "-64"}},
		{"huge vocabulary", llama(keys{"vocab_size": 1 << 40}), []string{"vocab_size", "1099511627776"}},
		{"wrong type", llama(keys{"num_hidden_layers": "two"}), []string{"num_hidden_layers", `"two"`, "whole number"}},
		{"fraction", llama(keys{"hidden_size": 64.5}), []string{"hidden_size", "64.5"}},
		{"heads do not divide", llama(keys{"num_key_value_heads": 3}), []string{"num_key_value_heads", "3", "8"}},
		{"width does not divide", llama(keys{"hidden_size": 65}), []string{"hidden_size", "65", "head_dim"}},
		{"odd head", llama(keys{"head_dim": 7}), []string{"head_dim", "7", "even"}},
		{"missing size", llama(keys{"vocab_size": nil}), []string{"vocab_size", "missing"}},
		{"too large altogether", llama(keys{"hidden_size": 1 << 17, "intermediate_size": 1 << 20, "num_hidden_layers": 1000, "head_dim": 8}), []string{"parameters", "more than the supported"}},
		{"end token outside", llama(keys{"eos_token_id": []int{1, 1000}}), []string{"eos_token_id", "1000"}},
		{"end token of a wrong type", llama(keys{"eos_token_id": "end"}), []string{"eos_token_id", `"end"`}},
		{"eps", llama(keys{"rms_norm_eps": 0}), []string{"rms_norm_eps", "is 0"}},
		{"bias type", llama(keys{"attention_bias": 1}), []string{"attention_bias", "true or false"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.keys, "", Options{})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

func TestContextOption(t *testing.T) {
	k := base("MistralForCausalLM", keys{"sliding_window": 1024})
	c, err := load(t, k, "", Options{Context: 1024})
	if err != nil || c.Context != 1024 {
		t.Fatalf("context %v, %v; a window of the whole context is harmless", c, err)
	}
	for _, n := range []int{-1, 4097} {
		if _, err := load(t, base("LlamaForCausalLM", nil), "", Options{Context: n}); err == nil || !strings.Contains(err.Error(), "at most 4096") {
			t.Errorf("context %d: %v", n, err)
		}
	}
}

func TestGenerationDefaults(t *testing.T) {
	k := base("LlamaForCausalLM", keys{"eos_token_id": 5, "bos_token_id": 4})
	c, err := load(t, k, `{"eos_token_id":[6,7],"do_sample":true,"temperature":0.6,"top_p":0.9,"top_k":-1,"min_p":0.05,"repetition_penalty":1.1}`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := c.Generation
	got := fmt.Sprint(c.BOS, c.EOS, *g.DoSample, *g.Temperature, *g.TopP, *g.TopK, *g.MinP, *g.RepetitionPenalty)
	if want := "4 [6 7] true 0.6 0.9 0 0.05 1.1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c, err = load(t, k, `{"_from_model_config": true}`, Options{})
	if err != nil || !reflect.DeepEqual(c.EOS, []int32{5}) || c.Generation != (Generation{}) {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := load(t, k, `{"temperature":2,"top_p":1,"top_k":0,"min_p":1,"repetition_penalty":2}`, Options{}); err != nil {
		t.Errorf("the largest values: %v", err)
	}
	for _, bad := range []string{`{"temperature":-1}`, `{"temperature":2.1}`, `{"top_p":0}`, `{"top_p":1.1}`, `{"top_k":-2}`,
		`{"min_p":-0.1}`, `{"min_p":1.1}`, `{"repetition_penalty":0}`, `{"repetition_penalty":2.1}`, `{"eos_token_id":1000}`, `{"repetition_penalty":"x"}`, `{`, `[]`} {
		if _, err := load(t, k, bad, Options{}); err == nil || !strings.Contains(err.Error(), GenerationFile) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Check refuses what a file is refused for.
func TestCheckedGeneration(t *testing.T) {
	k := base("LlamaForCausalLM", nil)
	for _, good := range []string{`{}`, `{"temperature":0,"top_p":1e-9,"top_k":0,"min_p":0,"repetition_penalty":1e-9}`,
		`{"temperature":2,"top_p":1,"top_k":16777216,"min_p":1,"repetition_penalty":2}`} {
		c, err := load(t, k, good, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Generation.Check(); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	float := func(v float64) *float32 { return new(float32(v)) }
	for want, bad := range map[string]Generation{
		"temperature is -0.1; it must be between 0 and 2":      {Temperature: float(-.1)},
		"temperature is NaN; it must":                          {Temperature: float(math.NaN())},
		"top_p is 0; it must":                                  {TopP: float(0)},
		"min_p is 1.1; it must":                                {MinP: float(1.1)},
		"repetition_penalty is +Inf; it must":                  {RepetitionPenalty: float(math.Inf(1))},
		"top_k is -1; it must be between 0 and 16777216":       {TopK: new(int32(-1))},
		"top_k is 16777217; it must be between 0 and 16777216": {TopK: new(int32(maxVocab + 1))},
	} {
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestMissingAndBrokenFiles(t *testing.T) {
	if _, err := Load(fstest.MapFS{}, Options{}); err == nil || !strings.Contains(err.Error(), "config.json is missing") {
		t.Errorf("missing: %v", err)
	}
	if _, err := Load(fstest.MapFS{File: {Data: []byte("[1]")}}, Options{}); err == nil || !strings.Contains(err.Error(), "config.json is not a JSON object: it has the type array; download it again") {
		t.Errorf("broken: %v", err)
	}
	if _, err := Load(fstest.MapFS{File: {Data: make([]byte, maxFile+1)}}, Options{}); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("huge: %v", err)
	}
}

// FuzzConfig: whatever the files say, Load neither panics nor lets through
// what the fields promise to exclude.
func FuzzConfig(f *testing.F) {
	for _, a := range families {
		data, _ := json.Marshal(base(a.name, keys{"rope_scaling": keys{"type": "linear", "factor": 2}}))
		f.Add(data, []byte(`{"eos_token_id":[1],"top_k":5}`))
	}
	f.Fuzz(func(t *testing.T, cfg, gen []byte) {
		c, err := Load(fstest.MapFS{File: {Data: cfg}, GenerationFile: {Data: gen}}, Options{})
		if err != nil {
			return
		}
		if c.Heads%c.KVHeads != 0 || c.HeadDim < 2 || c.HeadDim%2 != 0 || c.Vocab < 1 || c.Layers < 1 || c.Context < 1 || c.Rope.Factor < 1 {
			t.Errorf("accepted %+v", c)
		}
		if n := c.Parameters(); n <= 0 || n > maxParameters {
			t.Errorf("%d parameters", n)
		}
	})
}

// TestEndTokens: they are those of Load, also where Load refuses the rest.
func TestEndTokens(t *testing.T) {
	for name, c := range map[string]struct {
		config, generation string // empty: no file
		want               []int32
		fails              string
	}{
		"no files":         {},
		"config":           {`{"eos_token_id":5}`, "", []int32{5}, ""},
		"both":             {`{"eos_token_id":5}`, `{"eos_token_id":[7,6,7,-1]}`, []int32{7, 6}, ""},
		"only generation":  {"", `{"eos_token_id":6}`, []int32{6}, ""},
		"null":             {`{"eos_token_id":5}`, `{"eos_token_id":null}`, []int32{5}, ""},
		"an empty list":    {`{"eos_token_id":5}`, `{"eos_token_id":[]}`, nil, ""},
		"not supported":    {`{"architectures":["Other"],"eos_token_id":[5]}`, `{"temperature":9}`, []int32{5}, ""},
		"of a wrong type":  {`{"eos_token_id":"x"}`, "", nil, File + ": eos_token_id"},
		"much too large":   {"", `{"eos_token_id":99999999999}`, nil, GenerationFile + ": eos_token_id"},
		"a file is broken": {`{"eos_token_id":5}`, `[]`, nil, GenerationFile},
	} {
		fsys := fstest.MapFS{}
		for file, text := range map[string]string{File: c.config, GenerationFile: c.generation} {
			if text != "" {
				fsys[file] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		got, err := EndTokens(fsys)
		if !slices.Equal(got, c.want) || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, %v; want %v, %s", name, got, err, c.want, c.fails)
		}
		if k := (keys{}); json.Unmarshal([]byte(c.config), &k) == nil && k["architectures"] == nil {
			if loaded, err := load(t, base("LlamaForCausalLM", k), c.generation, Options{}); err == nil && !slices.Equal(loaded.EOS, got) {
				t.Errorf("%s: %v, but Load reads %v", name, got, loaded.EOS)
			}
		}
	}
}
