package quant_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// quantised are the block types.
func quantised() []gpu.DType {
	return slices.DeleteFunc(gpu.WeightDTypes(), func(d gpu.DType) bool { return !d.Quantised() })
}

// same compares a decoded element with the twin's: to the bit, any NaN equal.
func same(got float32, want float64) bool {
	return got == float32(want) || got != got && want != want
}

func compare(t interface{ Errorf(string, ...any) }, d gpu.DType, src []byte) {
	n := len(src) / d.BlockBytes() * d.BlockLen()
	got := make([]float32, n)
	quant.Dequantize(d, got, src)
	for i, x := range got {
		block := src[i/d.BlockLen()*d.BlockBytes():][:d.BlockBytes()]
		if want := element(d, block, i%d.BlockLen()); !same(x, want) {
			t.Errorf("%s: element %d is %v, want %v (block % x)", d, i, x, want, block)
			return
		}
	}
}

// Random bytes are blocks too; their scales are as often huge, tiny, infinite
// or NaN as F16 has it.
func TestDecodersMatchTheTwin(t *testing.T) {
	for _, d := range gpu.WeightDTypes() {
		t.Run(d.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(0, 4).Draw(t, "blocks") * d.BlockBytes()
				compare(t, d, rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "bytes"))
			})
		})
	}
}

func FuzzDequantize(f *testing.F) {
	r := rand.NewChaCha8([32]byte{7})
	for i, d := range gpu.WeightDTypes() {
		b := make([]byte, 2*d.BlockBytes())
		r.Read(b)
		f.Add(uint8(i), b)
	}
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		d := gpu.WeightDTypes()[int(kind)%len(gpu.WeightDTypes())]
		compare(t, d, b[:len(b)/d.BlockBytes()*d.BlockBytes()])
	})
}

// step is the widest distance between neighbouring values that the encoder may
// choose for a block: from the formulas of the encoders.
func step(d gpu.DType, x []float32) float64 {
	least, most := float64(slices.Min(x)), float64(slices.Max(x))
	abs := max(-least, most)
	return map[gpu.DType]float64{
		gpu.Q8_0: abs / 127, gpu.Q4_0: abs / 8, gpu.Q5_0: abs / 16,
		gpu.Q4_1: (most - least) / 15, gpu.Q5_1: (most - least) / 31,
	}[d]
}

// Decoding what was encoded moves no element by more than half a step, beyond
// the rounding of scale and minimum to F16. q4_0 and q5_0 have no code for the
// largest value on the far side: it moves by a whole step.
func TestEncodersStayWithinAStep(t *testing.T) {
	for _, d := range []gpu.DType{gpu.Q8_0, gpu.Q4_0, gpu.Q4_1, gpu.Q5_0, gpu.Q5_1} {
		t.Run(d.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				scale := float32(math.Pow(10, rapid.Float64Range(-3, 3).Draw(t, "log10 of the scale")))
				x := make([]float32, 3*d.BlockLen())
				for i := range x {
					x[i] = scale * rapid.Float32Range(-1, 1).Draw(t, "element")
				}
				b, y := make([]byte, d.Bytes(len(x))), make([]float32, len(x))
				quant.Quantize(d, b, x)
				quant.Dequantize(d, y, b)
				for at := 0; at < len(x); at += d.BlockLen() {
					block := x[at : at+d.BlockLen()]
					s, most := step(d, block), math.Abs(float64(slices.MaxFunc(block, func(a, b float32) int {
						return int(math.Copysign(1, math.Abs(float64(a))-math.Abs(float64(b))))
					})))
					// F16 has 11 bits: steps over twice the largest value, and the minimum, are
					// each off by 1/2048; a subnormal scale by 2^-25, times codes up to 127.
					bound := s/2 + 3*most/2048 + 128*0x1p-25
					if d == gpu.Q4_0 || d == gpu.Q5_0 {
						bound += s / 2
					}
					for i, v := range block {
						if diff := math.Abs(float64(y[at+i]) - float64(v)); !(diff <= bound) {
							t.Fatalf("%v comes back as %v, off by more than %v", v, y[at+i], bound)
						}
					}
				}
			})
		})
	}
}

// What a block can hold exactly comes back exactly, and encodes to the same
// bytes again where the codes reach the ends of their range.
func TestEncodersKeepWhatFits(t *testing.T) {
	for d, c := range map[gpu.DType]struct{ least, most int }{
		gpu.Q8_0: {-127, 127}, gpu.Q4_0: {-8, 7}, gpu.Q5_0: {-16, 15}, gpu.Q4_1: {0, 15}, gpu.Q5_1: {0, 31},
	} {
		x := make([]float32, 32)
		for i := range x {
			x[i] = 0.25 * float32(c.least+i*29%(c.most-c.least+1))
		}
		x[3], x[30] = 0.25*float32(c.least), 0.25*float32(c.most)
		b, y := make([]byte, d.BlockBytes()), make([]float32, 32)
		quant.Quantize(d, b, x)
		quant.Dequantize(d, y, b)
		if !slices.Equal(x, y) {
			t.Errorf("%s: %v comes back as %v", d, x, y)
		}
		again := make([]byte, len(b))
		if quant.Quantize(d, again, y); !bytes.Equal(b, again) {
			t.Errorf("%s: % x encodes again to % x", d, b, again)
		}
	}
}

// Zeros, what is too small for F16, and what is not finite.
func TestEncodersAtTheEnds(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, d := range []gpu.DType{gpu.Q8_0, gpu.Q4_0, gpu.Q4_1, gpu.Q5_0, gpu.Q5_1} {
		for name, c := range map[string]struct {
			odd   float32 // one element; the others are 0
			check func(float32) bool
		}{
			"zeros":    {0, func(y float32) bool { return y == 0 }},
			"tiny":     {1e-44, func(y float32) bool { return y == 0 }},
			"NaN":      {nan, func(y float32) bool { return y != y }},
			"infinite": {-inf, func(y float32) bool { return y != y }},
			// The scale is infinite: nothing finite comes back.
			"huge": {3e38, func(y float32) bool { return y-y != 0 }},
		} {
			x, b, y := make([]float32, 32), make([]byte, d.BlockBytes()), make([]float32, 32)
			x[17] = c.odd
			quant.Quantize(d, b, x)
			quant.Dequantize(d, y, b)
			if i := slices.IndexFunc(y, func(v float32) bool { return !c.check(v) }); i >= 0 {
				t.Errorf("%s, %s: element %d comes back as %v", d, name, i, y[i])
			}
		}
	}
}

func TestPlainTypesRoundToNearestEven(t *testing.T) {
	for d, want := range map[gpu.DType][]float32{
		gpu.F32: {1 + 1.0/512, -3e-9}, gpu.BF16: {1, -3e-9}, gpu.F16: {1 + 1.0/512, 0},
	} {
		b, y := make([]byte, d.Bytes(2)), make([]float32, 2)
		quant.Quantize(d, b, []float32{1 + 1.0/512, -3e-9})
		quant.Dequantize(d, y, b)
		if y[0] != want[0] || math.Abs(float64(y[1]-want[1])) > 1e-11 {
			t.Errorf("%s: %v, want about %v", d, y, want)
		}
	}
}

func TestWrongSizesPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"a byte short":      func() { quant.Dequantize(gpu.Q4_0, make([]float32, 32), make([]byte, 17)) },
		"half a block":      func() { quant.Dequantize(gpu.Q4_K, make([]float32, 128), make([]byte, 72)) },
		"int8":              func() { quant.Dequantize(gpu.I8, make([]float32, 1), make([]byte, 1)) },
		"no encoder":        func() { quant.Quantize(gpu.Q4_K, make([]byte, 144), make([]float32, 256)) },
		"a block too many":  func() { quant.Quantize(gpu.Q8_0, make([]byte, 68), make([]float32, 32)) },
		"random, not whole": func() { quant.Random(gpu.Q8_0, make([]byte, 35), 1, rand.Uint64) },
		"random floats":     func() { quant.Random(gpu.F32, make([]byte, 4), 1, rand.Uint64) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestRandomBlocksHaveTheDeviationAskedFor(t *testing.T) {
	for _, d := range quantised() {
		r := rand.New(rand.NewPCG(1, uint64(d)))
		b, x := make([]byte, 200*d.BlockBytes()), make([]float32, 200*d.BlockLen())
		quant.Random(d, b, 0.02, r.Uint64)
		quant.Dequantize(d, x, b)
		var sum, squares float64
		scales := map[uint16]bool{}
		for _, v := range x {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		for at := 0; at < len(b); at += d.BlockBytes() {
			scales[binary.LittleEndian.Uint16(b[at:])] = true
		}
		n := float64(len(x))
		if mean, deviation := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 0.003 || math.Abs(deviation-0.02) > 0.001 {
			t.Errorf("%s: mean %.4f, deviation %.4f; want 0 and 0.02", d, mean, deviation)
		}
		if len(scales) < 50 {
			t.Errorf("%s: %d different blocks", d, len(scales))
		}
	}
}
