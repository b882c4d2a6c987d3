package gputest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
)

// check is one property of a device.
type check struct {
	name string
	run  func(gpu.Device) error
}

// checks is the suite. It covers the types that the device says it takes.
func checks(device gpu.Device) []check {
	list := []check{
		{"rows", checkRows},
		{"steps in flight", checkOverlap},
		{"nothing to sample", checkNothingToSample},
		{"bad steps", checkBadSteps},
		{"unknown op", checkUnknownOp},
		{"bad weights", checkBadWeights},
		{"life", checkLife},
		{"log probabilities", checkLogprobs},
		{"sampling", checkSampling},
		{"samples follow the weights", checkDistribution},
	}
	info := device.Info()
	for _, kv := range info.KV {
		list = append(list, check{fmt.Sprintf("kv/%s/attention", kv), func(d gpu.Device) error { return checkAttention(d, kv) }})
	}
	for i, s := range Shapes() {
		for _, kv := range info.KV {
			name := fmt.Sprintf("reference/%s/kv-%s", s.Name, kv)
			list = append(list, check{name, func(d gpu.Device) error { return checkReference(d, s, kv, uint64(i)) }})
		}
	}
	for i, s := range Shapes() {
		kv := info.KV[i%2]
		list = append(list, check{"exact/" + s.Name, func(d gpu.Device) error { return checkExact(d, s, kv, uint64(i), ways) }})
		if i < 2 && slices.Contains(info.KV, gpu.I8) {
			list = append(list, check{"exact/" + s.Name + "/kv-int8", func(d gpu.Device) error { return checkExact(d, s, gpu.I8, uint64(i), ways) }})
		}
	}
	for i, w := range info.Weights {
		at := func(name string) string { return fmt.Sprintf("weights/%s/%s", w, name) }
		list = append(list, check{at("elements"), func(d gpu.Device) error { return checkElements(d, w) }})
		if s := quantisedShape(w, i%2 == 0); w.Quantised() {
			list = append(list,
				check{at("reference"), func(d gpu.Device) error { return checkReference(d, s, gpu.F32, uint64(w)) }},
				check{at("exact"), func(d gpu.Device) error { return checkExact(d, s, gpu.F32, uint64(w), waysOfRows) }})
		}
		for _, s := range longRows(w) {
			list = append(list, check{at("exact/" + s.Name), func(d gpu.Device) error { return checkExact(d, s, gpu.F32, uint64(w), waysOfRows) }})
		}
	}
	longest := gpu.F32
	if slices.Contains(info.KV, gpu.I8) {
		longest = gpu.I8 // whose scales must be found also
	}
	list = append(list, check{fmt.Sprintf("long/kv-%s", longest), func(d gpu.Device) error { return checkLong(d, longest) }})
	return append(list, check{"types that are not taken", checkOtherTypes})
}

// RunDevice runs the suite on a device. Everything that is loaded is closed.
func RunDevice(t *testing.T, d gpu.Device) {
	for _, c := range checks(d) {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(d); err != nil {
				t.Error(err)
			}
		})
	}
}

// RunShape runs what depends on the model on one more: against the reference
// and, bit for bit, against the device itself.
func RunShape(d gpu.Device, s Shape, seed uint64) error {
	for _, kv := range d.Info().KV {
		if err := checkReference(d, s, kv, seed); err != nil {
			return fmt.Errorf("%+v, KV %s: %w", s, kv, err)
		}
	}
	kv := d.Info().KV
	if err := checkExact(d, s, kv[seed%uint64(len(kv))], seed, ways); err != nil {
		return fmt.Errorf("%+v: %w", s, err)
	}
	return nil
}

// RandomShape draws a small model with weights of one of the types. Its width is
// at least 8: a norm over one or two elements magnifies rounding without bound,
// so no tolerance holds. Of a quantised type the width fills blocks, that of the
// MLP does so for every second model.
func RandomShape(seed uint64, types []gpu.DType) Shape {
	r := rand.New(rand.NewPCG(seed, 8))
	s := Shape{
		Name: fmt.Sprintf("random-%d", seed), Vocab: 10 + r.IntN(150), Hidden: 8 + r.IntN(83), Layers: 1 + r.IntN(3),
		KVHeads: 1 + r.IntN(4), HeadDim: 1 + r.IntN(40), Intermediate: 1 + r.IntN(120), Context: 256,
		Bias: r.IntN(2) == 0, QKNorm: r.IntN(2) == 0, Tied: r.IntN(2) == 0, DType: types[r.IntN(len(types))],
	}
	s.Heads = s.KVHeads * (1 + r.IntN(8))
	if n := s.DType.BlockLen(); n > 1 {
		s.Hidden = n * (1 + r.IntN(3))
		if r.IntN(2) == 0 {
			s.Intermediate = n * (1 + r.IntN(2))
		}
	}
	return s
}

// Failure names the first check that a device fails, among those whose names begin with a
// prefix; "" if it passes. For tests of the suite.
func Failure(d gpu.Device, prefix string) string {
	for _, c := range checks(d) {
		if !strings.HasPrefix(c.name, prefix) {
			continue
		}
		if err := c.run(d); err != nil {
			return fmt.Sprintf("%s: %v", c.name, err)
		}
	}
	return ""
}

// Shapes are the models of the suite: awkward on purpose, with widths that are not
// multiples of anything, odd heads, one and many KV heads.
func Shapes() []Shape {
	return []Shape{
		{Name: "gqa-bias-f32", Vocab: 97, Hidden: 50, Layers: 2, Heads: 6, KVHeads: 2, HeadDim: 10, Intermediate: 77, Context: 256, Bias: true},
		{Name: "mha-tied-bf16", Vocab: 130, Hidden: 64, Layers: 2, Heads: 4, KVHeads: 4, HeadDim: 16, Intermediate: 101, Context: 256, Tied: true, DType: gpu.BF16},
		{Name: "mqa-qknorm-f16", Vocab: 61, Hidden: 33, Layers: 1, Heads: 5, KVHeads: 1, HeadDim: 24, Intermediate: 40, Context: 256, QKNorm: true, DType: gpu.F16},
		{Name: "odd-head-f32", Vocab: 41, Hidden: 21, Layers: 2, Heads: 3, KVHeads: 3, HeadDim: 7, Intermediate: 19, Context: 256},
	}
}

// quantisedShape is a model with weights of a type, of odd numbers of rows and
// of several blocks a row. The rows of down do not fill blocks of 256, those of
// the other matrices do.
func quantisedShape(d gpu.DType, tied bool) Shape {
	s := Shape{
		Name: d.String(), Vocab: 61, Hidden: 96, Layers: 1, Heads: 6, KVHeads: 2, HeadDim: 16, Intermediate: 64, Context: 256,
		Bias: true, Tied: tied, DType: d,
	}
	if d.BlockLen() > 32 {
		s.Hidden, s.Heads, s.KVHeads, s.HeadDim, s.Intermediate = 256, 8, 1, 32, 37
	}
	return s
}

// longRows are models with more columns than a device may multiply at once,
// where sums begin and where they are added to, of the types for which steps of
// many rows may have kernels of their own.
func longRows(d gpu.DType) []Shape {
	columns := 1056 // blocks of a power of two leave one group of 32
	switch d {
	case gpu.F16, gpu.BF16:
		columns = 523 // and of single columns, an odd number
	case gpu.Q8_0, gpu.Q4_0:
	default:
		return nil
	}
	begun, added := quantisedShape(d, false), quantisedShape(d, true)
	begun.Name, begun.Hidden = "wide", columns
	added.Name, added.Intermediate = "wide-mlp", columns
	return []Shape{begun, added}
}
