package hf

import (
	"fmt"

	"github.com/troupe-engine/troupe/model/gguf"
)

// architecture is a value of general.architecture, with the Hugging Face name.
type architecture struct {
	name, class string
	// paired: the converter has put the two elements that rope turns together
	// side by side, in the rows of Q and K.
	paired bool
}

var architectures = []architecture{
	{"llama", "LlamaForCausalLM", true},
	{"qwen2", "Qwen2ForCausalLM", false},
	{"qwen3", "Qwen3ForCausalLM", false},
}

func architectureOf(f *gguf.File) (a architecture, err error) {
	const key = "general.architecture"
	r := &reader{f: f}
	name, known := r.text(key), ""
	for _, a := range architectures {
		if a.name == name {
			return a, nil
		}
		known += ", " + a.name
	}
	if name == "" {
		r.fail("%s is missing; the file is not a model or is damaged; download it again", key)
	}
	r.fail("%s is %q, which is not supported; supported: %s", key, name, known[2:])
	return a, r.err
}

// foreign are keys that change results in ways that are not supported unless
// they have the value here (or 0, where the number means "off").
var foreign = []struct {
	key     string
	neutral float64
	what    string
}{
	{"expert_count", 0, "a mixture of experts (MoE)"},
	{"attention.clamp_kqv", 0, "clamping of Q, K and V"},
	{"attention.max_alibi_bias", 0, "ALiBi"},
	{"attention.scale", 0, "a custom attention scale"},
	{"attention.causal", 1, "non-causal (bidirectional) attention"},
	{"attention.temperature_length", 0, "attention temperature by position"},
	{"attn_logit_softcapping", 0, "attention logit softcapping"},
	{"final_logit_softcapping", 0, "final logit softcapping"},
	{"logit_scale", 1, "a logit scale"},
	{"embedding_scale", 1, "an embedding scale"},
	{"residual_scale", 1, "a residual scale"},
	{"use_parallel_residual", 0, "a parallel residual"},
	{"pooling_type", 0, "pooling (an embedding model)"},
	{"rope.scaling.attn_factor", 1, "a rope attention factor"},
	{"rope.scaling.yarn_attn_factor", 1, "a rope attention factor"},
}

func refuse(f *gguf.File, arch string) error {
	if v, ok := f.Value("general.type"); ok {
		if kind, _ := v.Text(); kind != "model" {
			return fmt.Errorf("%s: general.type is %s, not \"model\"; give the file of the model itself", f.Name, v)
		}
	}
	for _, r := range foreign {
		key := arch + "." + r.key
		v, ok := f.Value(key)
		if !ok {
			continue
		}
		n, ok := v.Float()
		if b, isBool := v.Bool(); isBool {
			if ok = true; b {
				n = 1
			}
		}
		// 0 means "as usual" for all factors.
		if ok && (n == r.neutral || n == 0 && r.key != "attention.causal") {
			continue
		}
		return fmt.Errorf("%s: byte %d: %s is %s; %s is not supported; use another model", f.Name, v.At, key, v, r.what)
	}
	for _, name := range []string{"rope_factors_long.weight", "rope_factors_short.weight"} {
		if t := f.Tensor(name); t != nil {
			return fmt.Errorf("%s: tensor %s: the rope scaling \"longrope\" is not supported; use another model", t.File, t.Name)
		}
	}
	return nil
}
