package config

import "strings"

// family has the properties of an architecture that Hugging Face fixes in code and not in
// config.json, and the defaults of its configuration class, which files may leave out.
type family struct {
	name    string
	model   string // model_type, used where architectures is absent
	kvHeads int    // when num_key_value_heads is absent; 0: as many as heads
	headDim int    // when head_dim is absent; 0: hidden_size / heads
	window  windowRule
	qkNorm  bool
	// qkvBias is fixed; optionalBias reads attention_bias for all four
	// projections instead, mlpBias reads mlp_bias.
	qkvBias, optionalBias, mlpBias bool
}

type windowRule uint8

const (
	windowNever  windowRule = iota // the key means nothing
	windowAlways                   // counts unless null, 4096 when absent
	windowSwitch                   // counts with use_sliding_window
)

var families = []family{
	{name: "LlamaForCausalLM", model: "llama", optionalBias: true, mlpBias: true},
	{name: "MistralForCausalLM", model: "mistral", kvHeads: 8, window: windowAlways},
	{name: "Qwen2ForCausalLM", model: "qwen2", kvHeads: 32, window: windowSwitch, qkvBias: true},
	{name: "Qwen3ForCausalLM", model: "qwen3", kvHeads: 32, headDim: 128, window: windowSwitch, qkNorm: true, optionalBias: true},
}

// architectures lists the implemented ones by their Hugging Face names.
func architectures() string {
	var names []string
	for _, a := range families {
		names = append(names, a.name)
	}
	return strings.Join(names, ", ")
}

func findFamily(f fields) family {
	key := "architectures"
	names := f.texts(key)
	if len(names) == 0 {
		key, names = "model_type", []string{f.text("model_type", "")}
	}
	name := names[0]
	if f.has("text_config") {
		f.fail("text_config", "is present, so this is a multimodal model (%q), which is not supported; use a text-only model: %s", name, architectures())
	}
	for _, a := range families {
		if key == "architectures" && a.name == name || key == "model_type" && a.model == name {
			return a
		}
	}
	if key == "model_type" {
		f.fail("architectures", "is missing, and model_type is %q, which is not supported; supported architectures: %s", name, architectures())
	}
	f.fail(key, "is %q, which is not supported; supported: %s", name, architectures())
	return family{}
}
