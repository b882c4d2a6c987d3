package gpu

import (
	"fmt"
	"slices"
)

// Device is a place where programs run.
type Device interface {
	// Info describes the device; it does not change.
	Info() Info
	// Memory is what exists and what this process can still allocate.
	Memory() (Memory, error)
	// Supports returns an error unless the program is well formed and the device has
	// every op. PlanWeights and Load call it before they read a weight.
	Supports(p *Program) error
	// PlanWeights reports what Load would hold. It reads no data of StreamedWeights.
	PlanWeights(p *Program, w Weights) (WeightPlan, error)
	// Load copies a program's weights into the device's own layout and returns a model
	// without a KV pool. weights may be closed afterwards. Weights that are NaN or
	// infinite, or would be so in the device's layout, are refused; the error names
	// tensor, row and column. progress, if not nil, is called with the bytes loaded; it
	// may not call the device, which is busy.
	Load(p *Program, weights Weights, progress func(done, total int64)) (Model, error)
}

// StepSizer is a Device that knows how much memory NewPool takes beside the KV pool, for
// steps of a size. It allocates nothing.
type StepSizer interface {
	StepBytes(p *Program, spec PoolSpec) int64
}

// Info names a device.
type Info struct {
	Kind string // "cpu", "cuda", "ref"
	Name string // as people know it, "AVX-512, 2 threads"
	// Fingerprint is everything that may change a bit of a result: kind,
	// architecture, instruction-set tier, kernel version.
	Fingerprint string
	Threads     int // worker threads, 0 where that has no meaning
	Numerics
}

// Numerics is what a device computes with, and where it is inexact on purpose. The test
// suite of devices takes its cases and tolerances from it.
type Numerics struct {
	// Weights are the types of tensors that Load accepts, KV those of NewPool.
	Weights, KV []DType
	// Requantised are the types among Weights that the device stores as another one,
	// which moves a weight by up to half a step of q8_0. All others it multiplies as
	// package gpu/quant decodes them.
	Requantised []DType
	// Int8Activations: products of quantised weights round the activations to int8,
	// with a scale for 32 of them (or more). Embeddings are exact.
	Int8Activations bool
	// Inputs says what the inputs of products are rounded to, by the type of the weights,
	// and Attention what queries and attention weights are rounded to, by the type of the
	// pool. For a type that is missing they stay F32.
	Inputs, Attention map[DType]DType
}

// CheckKV returns an error unless NewPool makes pools of a type.
func (n Numerics) CheckKV(d DType) error {
	if slices.Contains(n.KV, d) {
		return nil
	}
	return fmt.Errorf("kv-cache-dtype %s: this device stores K and V in %s only; choose one of them", d, names(n.KV))
}

// Memory is measured in bytes.
type Memory struct {
	Total     int64
	Available int64
	Source    string // what bounded Available: "cgroup limit", "MemAvailable", ...
	Own       bool   // the device shares it with no other program of this machine
}
