package cpu

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// Options configures the device.
type Options struct {
	// Threads is how many goroutines compute a step, the one that runs it included. Zero:
	// GOMAXPROCS. Hard: exactly that many exist per loaded model, though small steps use
	// fewer. Results do not depend on it. Example: 4.
	Threads int
	// InstructionSet forces a level of the kernels: portable, avx2, avx512 or amx.
	// Empty or auto: the best that the processor has. Hard: one that it lacks
	// is refused. Results of levels differ by rounding, but those of
	// avx512 and amx are the same. Example: "avx2".
	InstructionSet string

	// Activations is what matrices in groups of integers are multiplied with: int8 rounds
	// the activations of 32 columns to int8 with one scale, as llama.cpp does, f32 leaves
	// them exact, at a third of the speed or less. Empty or auto: int8. Hard; results
	// differ. Matrices of floating-point numbers take f32 always. Example: "f32".
	Activations string
	// WeightDType is the type in which matrices are kept: f32, bf16, f16, q8_0
	// or q4_0. Empty or auto: as they are stored. Vectors, such as norms and
	// biases, are kept in f32. Hard, with two exceptions that PlanWeights
	// tells: rows that do not fill blocks of 32 elements are not quantised, and
	// the matrix of the logits is not kept in less than q8_0. Example: "q8_0".
	WeightDType string

	level   simd.Level
	int8    bool
	weights *gpu.DType // nil: as stored
	// jobBytes is that of load.go, smaller in tests.
	jobBytes int
}

// askable are the types that WeightDType may name.
var askable = []gpu.DType{gpu.F32, gpu.BF16, gpu.F16, gpu.Q8_0, gpu.Q4_0}

// maxThreads keeps a mistyped option from starting a million goroutines.
const maxThreads = 1024

func (o *Options) complete() error {
	if o.Threads == 0 {
		o.Threads = min(runtime.GOMAXPROCS(0), maxThreads)
	}
	if o.Threads < 1 || o.Threads > maxThreads {
		return fmt.Errorf("cpu device: threads is %d; it must be between 1 and %d, or 0 for one per core", o.Threads, maxThreads)
	}
	level, err := simd.ParseLevel(cmp.Or(o.InstructionSet, "auto"))
	if err != nil {
		return fmt.Errorf("cpu device: %w", err)
	}
	o.level = level
	switch o.Activations {
	case "", "auto", "int8":
		o.int8 = true
	case "f32":
	default:
		return fmt.Errorf("cpu device: activation-dtype is %q; it must be auto, f32 or int8", o.Activations)
	}
	if o.WeightDType != "" && o.WeightDType != "auto" {
		d, err := gpu.ParseDType(o.WeightDType)
		if err != nil || !slices.Contains(askable, d) {
			return fmt.Errorf("cpu device: weight-dtype is %q; it must be auto, f32, bf16, f16, q8_0 or q4_0", o.WeightDType)
		}
		o.weights = &d
	}
	return nil
}

// numbers names what Activations and WeightDType make of a model.
func (o *Options) numbers() string {
	activations, weights := "f32", "stored"
	if o.int8 {
		activations = "int8"
	}
	if o.weights != nil {
		weights = o.weights.String()
	}
	return "activations=" + activations + "/matrices=" + weights
}

func (o *Options) numerics() gpu.Numerics {
	n := gpu.Numerics{Weights: gpu.WeightDTypes(), KV: gpu.KVDTypes(), Int8Activations: o.int8}
	for _, d := range n.Weights {
		if !storageOf(o, gpu.Tensor{DType: d, Shape: []int{1, 256}}, false).exact() {
			n.Requantised = append(n.Requantised, d)
		}
	}
	return n
}
