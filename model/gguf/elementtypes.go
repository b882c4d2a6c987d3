package gguf

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// The numbers of element types (enum ggml_type), as far as they are implemented: those of
// all types of weights.
var types = map[uint32]gpu.DType{
	0: gpu.F32, 1: gpu.F16, 30: gpu.BF16,
	2: gpu.Q4_0, 3: gpu.Q4_1, 6: gpu.Q5_0, 7: gpu.Q5_1, 8: gpu.Q8_0,
	10: gpu.Q2_K, 11: gpu.Q3_K, 12: gpu.Q4_K, 13: gpu.Q5_K, 14: gpu.Q6_K,
	20: gpu.IQ4_NL, 23: gpu.IQ4_XS,
}

// others are refused by their names.
var others = map[uint32]string{
	4: "Q4_2", 5: "Q4_3", 9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S",
	21: "IQ3_S", 22: "IQ2_S", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M",
	31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8", 34: "TQ1_0", 35: "TQ2_0",
	36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8", 39: "MXFP4", 40: "NVFP4",
}

// TypeNumber is an element type's number in files; false for a type that GGUF lacks.
func TypeNumber(d gpu.DType) (uint32, bool) {
	for n, t := range types {
		if t == d {
			return n, true
		}
	}
	return 0, false
}

func typeOf(n uint32) (gpu.DType, error) {
	if d, ok := types[n]; ok {
		return d, nil
	}
	name, ok := others[n]
	if !ok {
		name = fmt.Sprintf("number %d", n)
	}
	return 0, fmt.Errorf("element type %s is not supported; supported: %s; use a file of the model in one of these types", name, gpu.WeightFileNames())
}
