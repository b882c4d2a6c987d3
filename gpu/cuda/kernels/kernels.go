// Package kernels holds the kernels of the CUDA device: CUDA C with a file per idea, what
// `make kernels` compiled from it (gen/), and the list of what is in there.
//
// The sources have two compilers. clang makes PTX of them, which ptxas assembles for each
// architecture; g++ compiles them as C++ over the emulation in testkit/cudaemu, so that
// tests need no GPU. portable.cuh says what kernels may use, order.cuh and the head of
// each file in which order sums are added, step.cuh what the host uploads for a step.
//
// The plain family (embed, rmsnorm, linear, rope, store_kv, attention, silu_mul, gather)
// takes any shape in float32 arithmetic and is the reference on the GPU itself. The
// tensor family (tensor_*.cu) computes 16-bit products on tensor cores.
package kernels

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// Manifest says what gen/ was made from, with what, and what is in it.
type Manifest struct {
	Clang   string            `json:"clang"`   // version of the compiler
	PTXAS   string            `json:"ptxas"`   // version of the assembler
	PTX     string            `json:"ptx"`     // version of the language, which decides the oldest driver
	Sources map[string]string `json:"sources"` // file in this folder to SHA-256
	Outputs []Output          `json:"outputs"`
	Kernels []Kernel          `json:"kernels"` // by name
}

// Output is a file in gen/, compressed with gzip.
type Output struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`  // before compression
	Target string `json:"target"` // sm_80, sm_90a
	Cubin  bool   `json:"cubin"`  // or else PTX
}

// Kernel is an entry of the modules.
type Kernel struct {
	Name       string           `json:"name"`
	Parameters []int            `json:"parameters"`        // bytes of each
	Threads    int              `json:"threads,omitempty"` // at most, in a block; 0: 1,024
	Builds     map[string]Build `json:"builds"`            // by target; a target that lacks the kernel is absent
}

// Build is what a kernel uses on an architecture.
type Build struct {
	Registers int `json:"registers"`        // of a thread
	Shared    int `json:"shared,omitempty"` // static shared memory of a block, bytes
}

// Target is the build that Image has for a compute capability. A kernel without a build
// for it is not in the image.
func Target(major, minor int) string {
	if major == 9 && minor == 0 {
		return "sm_90a"
	}
	return "sm_80"
}

//go:embed gen/manifest.json
var manifestJSON []byte

// Contents is the manifest of this build.
var Contents = sync.OnceValue(func() Manifest {
	var m Manifest
	if err := json.Unmarshal(manifestJSON, &m); err != nil {
		panic("kernels: gen/manifest.json: " + err.Error())
	}
	return m
})
