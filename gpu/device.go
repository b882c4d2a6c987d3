package gpu

import (
	"fmt"
	"slices"
	"strings"
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
	// tensor, row and column. progress, if not nil, is called with the bytes loaded.
	Load(p *Program, weights Weights, progress func(done, total int64)) (Model, error)
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
}

// WeightPlan is how a device stores the weights of a program.
type WeightPlan struct {
	Bytes int64 // held once they are loaded
	// Changed are the matrices that are not held in their stored type.
	Changed []HeldWeights
}

// HeldWeights are the matrices of one type that are held in another one, for one reason.
type HeldWeights struct {
	Stored, Held DType
	Why          string // for people
	Tensors      int
	Bytes        int64
}

// Weights finds tensors by name. Errors of Tensor name the tensor and the file.
type Weights interface {
	Tensor(name string) (Tensor, error)
}

// StreamedWeights are Weights that may be too large to be in memory twice. A device
// that copies tensors one after the other then needs little more than the copies.
type StreamedWeights interface {
	Weights
	// Describe is Tensor without Data.
	Describe(name string) (Tensor, error)
	// Discard says that a tensor's data, or a part of it, has been read. Its memory may
	// be freed; the data stays valid and is read again on demand.
	Discard(data []byte)
}

// PlacedWeights are Weights that know where their tensors are stored, for errors.
type PlacedWeights interface {
	Weights
	// Place is the file and the tensor of an index into the first dimension, as an
	// error text begins, and the index there.
	Place(name string, index int) (tensor string, at int)
}

// Tensor is a dense row-major array on the host. Data is little-endian, frozen, and
// valid until its source is closed.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte // DType.Bytes(product of Shape) bytes, rows one after the other
}

// Elements is how many elements a tensor of a shape has.
func Elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// PoolSpec sizes the KV pool and the table of rows. A step that exceeds it is refused.
type PoolSpec struct {
	PageSize int // slots a page, a power of two
	Pages    int // usable pages 1..Pages; page 0 is padding and comes on top
	DType    DType
	Layout   Layout

	Rows       int // rows of the table, at least 1
	Context    int // positions of a row, 1 to Program.Context
	StepTokens int // tokens that one step computes, at least 1
}

// Sharer is a Model that can share its weights with other engines in the process.
type Sharer interface {
	Model
	// Share returns another model with the same weights and its own pool, rows and steps.
	// The last Close frees the weights; only Bytes of the first model counts them.
	Share() Model
}

// Layout is how a pool stores KV. It changes no result: other code uses pages and slots.
type Layout uint8

const (
	// Contiguous keeps the keys, or the values, of one layer and head together
	// for all slots. Attention reads neighbouring pages as one run of memory.
	Contiguous Layout = iota
	// Paged keeps all that belongs to a page together, for all layers and
	// heads: a page is copied or moved elsewhere as one run of memory.
	Paged
)

var layouts = [...]string{Contiguous: "contiguous", Paged: "paged"}

// String is the name used in settings.
func (l Layout) String() string {
	if int(l) < len(layouts) {
		return layouts[l]
	}
	return "unknown"
}

// ParseLayout finds a layout by its name.
func ParseLayout(name string) (Layout, error) {
	if i := slices.Index(layouts[:], name); i >= 0 {
		return Layout(i), nil
	}
	return 0, fmt.Errorf("KV layout %q is not known; use one of %s", name, strings.Join(layouts[:], ", "))
}

// StepsInFlight is how many steps a model accepts at once: one that runs, and the next.
const StepsInFlight = 2

// Model is a loaded program. Calls come from one goroutine at a time.
type Model interface {
	// NewPool makes a KV pool and a table of closed rows, and frees older ones. No step
	// may be in flight. Contents are undefined; masked positions may hold NaN.
	NewPool(spec PoolSpec) error
	// Submit starts a step and returns. Steps are computed in order; more than
	// StepsInFlight are refused. done is called exactly once, from any goroutine, and
	// must not block; those of accepted steps are called one by one, in order. Until then
	// the step is in flight, and the batch and all it points to stay frozen.
	//
	// A failed step leaves the rows undefined: every step fails until one with Reset.
	Submit(batch *StepBatch, done func(*StepResult, error))
	// Quiesce calls done once no step is in flight and every done has returned.
	Quiesce(done func())
	// Bytes is the memory held, measured, by purpose: "weights", "kv", "activations"
	// (buffers of the step's rows), "workspace" (scratch of kernels). It may be called
	// from any goroutine, also while a step runs.
	Bytes() map[string]int64
	// Close frees everything. No step may be in flight.
	Close() error
}

// WeightReader is a Model that knows how much it reads, from which the share of the
// memory's bandwidth is computed.
type WeightReader interface {
	// WeightBytesRead is how many bytes of weights a step reads at least, as the device
	// stores them: each matrix of a product and each vector once.
	WeightBytesRead() int64
}
