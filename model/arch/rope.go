package arch

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/model/config"
)

// InvFreq returns the angle per position of each pair of a head's elements,
// headDim/2 of them: theta^(-2i/headDim) (Su et al. 2021), with the scaling of the
// model. Hugging Face computes the same in float32 (modeling_rope_utils.py).
func InvFreq(headDim int, r config.Rope) ([]float64, error) {
	freq := make([]float64, headDim/2)
	if r.Scaling == "factors" && len(r.Factors) != len(freq) {
		return nil, fmt.Errorf("the model has %d rope factors, but a head needs %d (half of its elements); use the model's original file", len(r.Factors), len(freq))
	}
	for i := range freq {
		freq[i] = math.Pow(r.Theta, -float64(2*i)/float64(headDim))
		switch r.Scaling {
		case "default":
		case "linear":
			// Positions divided by the factor; the same as slower angles.
			freq[i] /= r.Factor
		case "llama3":
			freq[i] = llama3(freq[i], r)
		case "factors":
			freq[i] /= float64(r.Factors[i])
		default:
			return nil, fmt.Errorf("rope scaling %q is not supported; use another model", r.Scaling)
		}
	}
	return freq, nil
}

// llama3 is the scaling of Llama 3.1 (_compute_llama3_parameters in
// modeling_rope_utils.py, after Meta's apply_scaling): wavelengths up to
// Original/HighFreq stay, those from Original/LowFreq on are stretched by Factor, and
// between them the two are blended linearly in the number of turns within Original.
func llama3(freq float64, r config.Rope) float64 {
	turns := float64(r.Original) * freq / (2 * math.Pi)
	switch {
	case turns > r.HighFreq:
		return freq
	case turns < r.LowFreq:
		return freq / r.Factor
	}
	s := (turns - r.LowFreq) / (r.HighFreq - r.LowFreq)
	return (1-s)*freq/r.Factor + s*freq
}
