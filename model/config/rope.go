package config

import "strconv"

// scalings are the rope scalings that are implemented.
const scalings = "default, linear, llama3"

// parseRope reads rope_theta and rope_scaling of transformers 4, or
// rope_parameters of transformers 5, which holds both.
func parseRope(f fields, c *Config) Rope {
	key := "rope_scaling"
	if f.has("rope_parameters") {
		key = "rope_parameters"
	}
	s := f.object(key)
	for _, nested := range []string{"full_attention", "sliding_attention"} {
		if s.has(nested) {
			f.fail(key, "has different values for different layer types (%s), which is not supported; use another model", nested)
		}
	}
	for _, g := range []fields{f, s} {
		if p := number[float64](g, "partial_rotary_factor", 0, 1, 1); p != 1 {
			g.fail("partial_rotary_factor", "is %g; partial rotary embeddings are not supported; use another model", p)
		}
	}
	theta := number(f, "rope_theta", 1, 1e18, 10000)
	r := Rope{
		Theta:   number(s, "rope_theta", 1, 1e18, theta),
		Scaling: s.text("rope_type", s.text("type", "default")),
		Factor:  1,
	}
	switch r.Scaling {
	case "default":
	case "linear":
		r.Factor = required(s, "factor", 1, 1e6)
	case "llama3":
		r.Factor = required(s, "factor", 1, 1e6)
		r.LowFreq = required(s, "low_freq_factor", 1e-3, 1e6)
		r.HighFreq = required(s, "high_freq_factor", 1e-3, 1e6)
		r.Original = required(s, "original_max_position_embeddings", 1, maxContext)
		if *f.err == nil && r.HighFreq <= r.LowFreq {
			s.fail("high_freq_factor", "is %g; it must be above %s, which is %g; use the model's original file", r.HighFreq, s.name("low_freq_factor"), r.LowFreq)
		}
	default:
		remedy := "use another model"
		if n := number(s, "original_max_position_embeddings", 1, maxContext, c.Context); s.has("original_max_position_embeddings") && *f.err == nil {
			// True for models whose scaling was switched on afterwards, which
			// is how yarn is usually found.
			remedy = "if the scaling was only added to extend the trained context, remove " + f.name(key) + " and set " + f.name("max_position_embeddings") + " to " + strconv.Itoa(n)
		}
		f.fail(key, "is of type %q, which is not supported; supported: %s; %s", r.Scaling, scalings, remedy)
	}
	return r
}
