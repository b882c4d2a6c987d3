package gpu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
)

// The sizes of blocks as the layouts add up: scales in F16 (2 bytes), packed
// scales of the K types, then the bits of the elements.
func TestBlockSizes(t *testing.T) {
	for d, want := range map[gpu.DType]struct{ elements, bytes int }{
		gpu.F32: {1, 4}, gpu.F16: {1, 2}, gpu.BF16: {1, 2}, gpu.I8: {1, 1},
		gpu.Q8_0: {32, 2 + 32},
		gpu.Q4_0: {32, 2 + 16}, gpu.IQ4_NL: {32, 2 + 16},
		gpu.Q4_1: {32, 2 + 2 + 16},
		gpu.Q5_0: {32, 2 + 4 + 16},
		gpu.Q5_1: {32, 2 + 2 + 4 + 16},
		gpu.Q2_K: {256, 256/16 + 256/4 + 2 + 2},
		gpu.Q3_K: {256, 256/8 + 256/4 + 12 + 2},
		gpu.Q4_K: {256, 2 + 2 + 12 + 256/2},
		gpu.Q5_K: {256, 2 + 2 + 12 + 256/8 + 256/2},
		gpu.Q6_K: {256, 256/2 + 256/4 + 16 + 2},
		// Scales of 6 bits for 8 parts of 32: 4 bits in bytes, 2 in one word.
		gpu.IQ4_XS: {256, 2 + 2 + 4 + 256/2},
	} {
		if d.BlockLen() != want.elements || d.BlockBytes() != want.bytes || d.Bytes(512) != 512/want.elements*want.bytes {
			t.Errorf("%s: blocks of %d in %d bytes, 512 elements in %d; want blocks of %d in %d", d, d.BlockLen(), d.BlockBytes(), d.Bytes(512), want.elements, want.bytes)
		}
		if d.Quantised() != (want.elements > 1) {
			t.Errorf("%s: Quantised is %v", d, d.Quantised())
		}
	}
}

func TestNamesOfTypes(t *testing.T) {
	all := append(gpu.WeightDTypes(), gpu.I8)
	if len(all) != 16 {
		t.Errorf("%d types: %v", len(all), all)
	}
	for _, d := range all {
		if got, err := gpu.ParseDType(d.String()); err != nil || got != d || !d.Known() {
			t.Errorf("%s reads back as %v, %v", d, got, err)
		}
	}
	if kv := gpu.KVDTypes(); !slices.Equal(kv, []gpu.DType{gpu.F32, gpu.F16, gpu.BF16, gpu.I8}) {
		t.Errorf("types of KV pools: %v", kv)
	}
	if _, err := gpu.ParseDType("q4_2"); err == nil || !strings.Contains(err.Error(), `"q4_2"`) || !strings.Contains(err.Error(), "q4_k, ") {
		t.Errorf("an unknown name: %v", err)
	}
	if d := gpu.DType(200); d.Known() || d.Quantised() || d.ForKV() || d.ForWeights() || d.String() != "element type 200" {
		t.Errorf("type 200 is taken for %s", d)
	}
}

// A K or V of 64 elements: int8 has one float32 scale for it.
func TestBytesOfKV(t *testing.T) {
	shape := gpu.KVSpec{Layers: 3, Heads: 2, HeadDim: 64}
	for d, vector := range map[gpu.DType]int{gpu.F32: 256, gpu.F16: 128, gpu.BF16: 128, gpu.I8: 68} {
		if got := shape.BytesPerToken(d); got != int64(3*2*2*vector) || d.VectorBytes(64) != vector {
			t.Errorf("%s: %d bytes a token, %d a vector; want %d a vector", d, got, d.VectorBytes(64), vector)
		}
	}
	for _, d := range []gpu.DType{gpu.Q8_0, gpu.Q4_K, 99} {
		if err := (gpu.PoolSpec{PageSize: 16, Pages: 4, DType: d}).Check(&gpu.Program{Context: 1}); err == nil || !strings.Contains(err.Error(), d.String()) {
			t.Errorf("a pool of %s: %v", d, err)
		}
	}
}

func TestTensorCheck(t *testing.T) {
	for name, c := range map[string]struct {
		dtype gpu.DType
		shape []int
		bytes int
		want  string // "" if it is good
	}{
		"whole blocks":       {gpu.Q4_K, []int{3, 512}, 3 * 2 * 144, ""},
		"a vector":           {gpu.Q8_0, []int{64}, 2 * 34, ""},
		"a byte short":       {gpu.Q4_K, []int{3, 512}, 3*2*144 - 1, "863 bytes"},
		"rows across blocks": {gpu.Q8_0, []int{4, 40}, 5 * 34, "rows of 40"},
		"int8":               {gpu.I8, []int{4, 4}, 16, "int8 cannot be used for weights"},
		"unknown":            {gpu.DType(77), []int{4, 4}, 16, "77"},
	} {
		s := gpu.WeightSpec{Name: "blk.0", Shape: c.shape}
		err := s.Check(gpu.Tensor{DType: c.dtype, Shape: c.shape, Data: make([]byte, c.bytes)})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "blk.0")) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestNumericsNameWhatIsMissing(t *testing.T) {
	n := gpu.Numerics{Weights: []gpu.DType{gpu.F32, gpu.Q8_0}, KV: []gpu.DType{gpu.F32, gpu.BF16}}
	if err := n.CheckKV(gpu.BF16); err != nil {
		t.Error(err)
	}
	for want, err := range map[string]error{
		"kv-cache-dtype int8: this device stores K and V in f32, bf16 only": n.CheckKV(gpu.I8),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
