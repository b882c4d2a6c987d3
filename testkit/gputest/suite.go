package gputest

import (
	"fmt"
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
		{"masks", checkMasks},
		{"bad steps", checkBadSteps},
		{"unknown op", checkUnknownOp},
		{"bad weights", checkBadWeights},
		{"life", checkLife},
		{"shared weights", checkShared},
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

// RunShapeOnce is RunShape with one type of pool, which the seed decides, and in fewer ways:
// for devices that are slow.
func RunShapeOnce(d gpu.Device, s Shape, seed uint64) error {
	kv := d.Info().KV
	pool := kv[seed%uint64(len(kv))]
	err := checkReference(d, s, pool, seed)
	if err == nil {
		err = checkExact(d, s, pool, seed, waysOfFew)
	}
	if err != nil {
		return fmt.Errorf("%+v, KV %s: %w", s, pool, err)
	}
	return nil
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
