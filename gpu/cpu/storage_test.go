package cpu

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

func TestHold(t *testing.T) {
	exact, rough := Options{}, Options{int8: true}
	asked := func(o Options, d gpu.DType) Options {
		o.weights = &d
		return o
	}
	matrix, odd, vector := []int{5, 256}, []int{5, 48}, []int{256}
	for _, tt := range []struct {
		name   string
		o      Options
		stored gpu.DType
		shape  []int
		logits bool
		want   storage
	}{
		{"as stored", exact, gpu.BF16, matrix, false, storage{gpu.BF16, asStored}},
		{"as stored", rough, gpu.Q4_0, matrix, true, storage{gpu.Q4_0, asStored}},
		{"five bits", exact, gpu.Q5_0, matrix, false, storage{gpu.Q8_0, sameValues}},
		{"a table", rough, gpu.IQ4_NL, matrix, false, storage{gpu.Q8_0, sameValues}},
		{"minimums", exact, gpu.Q4_1, matrix, false, storage{gpu.Q4_1, asStored}},
		{"minimums of five bits, exact", exact, gpu.Q5_1, matrix, false, storage{gpu.F32, asFloat32}},
		{"minimums of five bits", rough, gpu.Q5_1, matrix, false, storage{gpu.Q8_0, toNearest}},
		{"a common K-quant", exact, gpu.Q4_K, matrix, false, storage{gpu.Q4_K, asStored}},
		{"another", rough, gpu.Q6_K, matrix, true, storage{gpu.Q6_K, asStored}},
		{"a rarer K-quant, exact", exact, gpu.Q5_K, matrix, false, storage{gpu.F32, asFloat32}},
		{"a rarer K-quant", rough, gpu.Q5_K, matrix, true, storage{gpu.Q8_0, toNearest}},
		{"logits of a common K-quant", asked(rough, gpu.Q4_0), gpu.Q6_K, matrix, true, storage{gpu.Q8_0, forLogits}},
		{"asked", asked(exact, gpu.Q4_0), gpu.BF16, matrix, false, storage{gpu.Q4_0, asRequested}},
		{"asked for what is stored", asked(exact, gpu.BF16), gpu.BF16, matrix, false, storage{gpu.BF16, asStored}},
		{"asked, of a K-quant", asked(exact, gpu.BF16), gpu.Q4_K, matrix, false, storage{gpu.BF16, asRequested}},
		{"logits", asked(rough, gpu.Q4_0), gpu.BF16, matrix, true, storage{gpu.Q8_0, forLogits}},
		{"logits of eight bits", asked(rough, gpu.Q4_0), gpu.Q8_0, matrix, true, storage{gpu.Q8_0, asStored}},
		{"logits of four bits", asked(rough, gpu.Q4_0), gpu.Q4_0, matrix, true, storage{gpu.Q4_0, asStored}},
		{"no groups", asked(rough, gpu.Q8_0), gpu.F16, odd, false, storage{gpu.F16, unevenRows}},
		{"a vector", asked(rough, gpu.Q8_0), gpu.F16, vector, false, storage{gpu.F32, asStored}},
	} {
		if have := storageOf(&tt.o, gpu.Tensor{DType: tt.stored, Shape: tt.shape}, tt.logits); have != tt.want {
			t.Errorf("%s, %s: %v, want %v", tt.name, tt.stored, have, tt.want)
		}
	}
}

// TestEncodedRows: stored rows decode to the original numbers, to the bit if the storage
// is exact, within half a step of q8_0 if it rounds.
func TestEncodedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 512
	for _, from := range gpu.WeightDTypes() {
		if !from.Quantised() {
			continue
		}
		for _, o := range []Options{{}, {int8: true}} {
			h := storageOf(&o, gpu.Tensor{DType: from, Shape: []int{1, n}}, false)
			src, dst := make([]byte, from.Bytes(n)), make([]byte, h.dtype.Bytes(n))
			quant.Random(from, src, 0.02, r.Uint64)
			stored, held := make([]float32, n), make([]float32, n)
			encodeRow(h.dtype, dst, from, src, held)
			quant.Dequantize(from, stored, src)
			quant.Dequantize(h.dtype, held, dst)
			for i := range stored {
				peak := float64(0)
				for _, x := range stored[i/32*32 : i/32*32+32] {
					peak = max(peak, math.Abs(float64(x)))
				}
				off := math.Abs(float64(stored[i]) - float64(held[i]))
				if h.why != toNearest && math.Float32bits(stored[i]) != math.Float32bits(held[i]) || off > peak/127*0.57 {
					t.Fatalf("%s held as %s: element %d is %v, stored %v", from, h.dtype, i, held[i], stored[i])
				}
			}
		}
	}
}

// TestRecodedRowsOfAnyScale: infinite and tiny scales are also copied.
func TestRecodedRowsOfAnyScale(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, from := range []gpu.DType{gpu.Q5_0, gpu.IQ4_NL} {
		for scale := 0; scale < 1<<16; scale += 37 {
			src, dst := make([]byte, from.BlockBytes()), make([]byte, gpu.Q8_0.BlockBytes())
			for i := range src {
				src[i] = byte(r.Uint32())
			}
			binary.LittleEndian.PutUint16(src, uint16(scale))
			recodeRow(dst, from, src)
			var stored, held [32]float32
			quant.Dequantize(from, stored[:], src)
			quant.Dequantize(gpu.Q8_0, held[:], dst)
			for i := range stored {
				if a, b := stored[i], held[i]; math.Float32bits(a) != math.Float32bits(b) && (a == a || b == b) {
					t.Fatalf("%s, scale %#04x: element %d is %v, stored %v", from, scale, i, b, a)
				}
			}
		}
	}
}
