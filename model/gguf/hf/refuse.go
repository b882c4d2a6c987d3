package hf

import (
	"fmt"

	"github.com/troupe-engine/troupe/model/gguf"
)

// foreign are keys that change results in ways that are not supported unless
// they have the value here (or 0, where the number means "off").
var foreign = []struct {
	key     string
	neutral float64
	what    string
}{
	{"expert_count", 0, "mixtures of experts"},
	{"attention.clamp_kqv", 0, "clamped attention"},
	{"attention.max_alibi_bias", 0, "ALiBi"},
	{"attention.scale", 0, "another scale of attention"},
	{"attention.causal", 1, "attention to later tokens"},
	{"attention.temperature_length", 0, "attention scaled by position"},
	{"attn_logit_softcapping", 0, "capped attention"},
	{"final_logit_softcapping", 0, "capped logits"},
	{"logit_scale", 1, "scaled logits"},
	{"embedding_scale", 1, "a scaled embedding"},
	{"residual_scale", 1, "a scaled residual"},
	{"use_parallel_residual", 0, "parallel residuals"},
	{"pooling_type", 0, "pooling (a model of embeddings)"},
	{"rope.scaling.attn_factor", 1, "attention scaled with rope"},
	{"rope.scaling.yarn_attn_factor", 1, "attention scaled with rope"},
}

// refuse returns an error for features of the file that are not supported.
func refuse(f *gguf.File, arch string) error {
	if v, ok := f.Value("general.type"); ok {
		if kind, _ := v.Text(); kind != "model" {
			return fmt.Errorf("%s: general.type is %s; only models are served; give the file of the model itself", f.Name, v)
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
		return fmt.Errorf("%s: byte %d: %s is %s: %s is not supported", f.Name, v.At, key, v, r.what)
	}
	for _, name := range []string{"rope_factors_long.weight", "rope_factors_short.weight"} {
		if t := f.Tensor(name); t != nil {
			return fmt.Errorf("%s: tensor %s: the rope scaling \"longrope\" is not supported", t.File, t.Name)
		}
	}
	return nil
}
