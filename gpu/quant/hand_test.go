package quant_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// set writes bytes at a place of a block.
func set(at int, v ...byte) func([]byte) { return func(b []byte) { copy(b[at:], v) } }

// F16 numbers, little-endian.
var (
	one     = []byte{0x00, 0x3c}
	two     = []byte{0x00, 0x40}
	quarter = []byte{0x00, 0x34}
)

// Blocks that are zero but for what is set, and elements of them worked out by
// hand from the layouts. Every other element must be rest.
func TestBlocksByHand(t *testing.T) {
	for name, c := range map[string]struct {
		dtype gpu.DType
		set   []func([]byte)
		rest  float32
		want  map[int]float32
	}{
		"q8_0": {gpu.Q8_0, []func([]byte){set(0, quarter...), set(2, 4, 0xff), set(33, 0x80)}, 0,
			map[int]float32{0: 1, 1: -0.25, 31: -32}},
		// Byte 0 of the codes: 0x3 for element 0, 0xf for element 16.
		"q4_0": {gpu.Q4_0, []func([]byte){set(0, two...), set(2, 0xf3)}, -16,
			map[int]float32{0: 2 * (3 - 8), 16: 2 * (15 - 8)}},
		"q4_1": {gpu.Q4_1, []func([]byte){set(0, two...), set(2, quarter...), set(19, 0x21)}, 0.25,
			map[int]float32{15: 2.25, 31: 4.25}},
		// The word of high bits has bits 1 and 31.
		"q5_0": {gpu.Q5_0, []func([]byte){set(0, one...), set(2, 2, 0, 0, 0x80), set(7, 0x45), set(21, 0xf0)}, -16,
			map[int]float32{1: 5 + 16 - 16, 17: 4 - 16, 31: 15}},
		"q5_1": {gpu.Q5_1, []func([]byte){set(0, one...), set(2, quarter...), set(4, 0, 0, 1, 0), set(8, 0x21)}, 0.25,
			map[int]float32{0: 1.25, 16: 2 + 16 + 0.25}},
		// Scales of the second and the last 16 elements: s = 3, t = 1 and s = 1,
		// t = 0. Code byte 16, 0xe4: elements 16, 48, 80, 112 get 0, 1, 2, 3, but
		// only part 1 has a scale. The last byte: its top two bits are element 255.
		"q2_k": {gpu.Q2_K, []func([]byte){set(1, 0x13), set(15, 0x01), set(16+17, 0x02), set(16+63, 0xc0), set(80, two...), set(82, quarter...)}, 0,
			map[int]float32{16: -0.25, 17: 2*3*2 - 0.25, 18: -0.25, 19: -0.25, 20: -0.25, 21: -0.25, 22: -0.25, 23: -0.25, 24: -0.25,
				25: -0.25, 26: -0.25, 27: -0.25, 28: -0.25, 29: -0.25, 30: -0.25, 31: -0.25, 255: 2 * 1 * 3}},
		// All scales are 0 - 32 but that of part 9: low bits 0xf in the high half of
		// byte 1, high bits 0b10 in bits 4 and 5 of byte 8+1: 47 - 32 = 15. With no
		// high bit a code counts from -4. Element 144 + 3: low bits 2 in byte 32 +
		// 16+3, bits 0 and 1; its high bit is bit 4 of byte 16+3.
		"q3_k": {gpu.Q3_K, []func([]byte){set(96+1, 0xf0), set(96+9, 0x20), set(32+32+19, 2), set(19, 0x10), set(108, one...)}, 128,
			map[int]float32{144: -60, 145: -60, 146: -60, 147: 15 * 2, 148: -60, 149: -60, 150: -60, 151: -60, 152: -60, 153: -60,
				154: -60, 155: -60, 156: -60, 157: -60, 158: -60, 159: -60}},
		// Part 5 (elements 160..191) has s = 0b010011 = 19 (low bits in byte 9, high
		// ones at the top of byte 1) and t = 0. Element 161 is the high half of code
		// byte 64+1; its low half, element 129, is in part 4, whose s is 0.
		"q4_k": {gpu.Q4_K, []func([]byte){set(0, two...), set(4+9, 0x03), set(4+1, 0x40), set(16+65, 0x7f)}, 0,
			map[int]float32{161: 2 * 19 * 7}},
		// Part 2 has s = 0, t = 9; part 0 s = 5. Element 0 has low bits 3 and its
		// high bit, bit 0 of byte 16.
		"q5_k": {gpu.Q5_K, []func([]byte){set(0, one...), set(2, quarter...), set(4, 5), set(4+6, 9), set(16, 1), set(48, 3)}, 0,
			func() map[int]float32 {
				want := map[int]float32{0: 5 * 19}
				for i := 64; i < 96; i++ {
					want[i] = -2.25
				}
				return want
			}()},
		// Scale 13, of elements 208..223, is -2. In the second half they are
		// elements 80..95: high halves of bytes 16..31, bits 4 and 5 of high bytes
		// 16..31. Element 209: low bits 6, high bits 3, less 32.
		"q6_k": {gpu.Q6_K, []func([]byte){set(192+13, 0xfe), set(64+17, 0x60), set(128+32+17, 0x30), set(208, quarter...)}, 0,
			func() map[int]float32 {
				want := map[int]float32{209: 0.25 * -2 * (6 + 48 - 32)}
				for i := 208; i < 224; i++ {
					if i != 209 {
						want[i] = 0.25 * -2 * -32
					}
				}
				return want
			}()},
		// Code 0 means -127.
		"iq4_nl": {gpu.IQ4_NL, []func([]byte){set(0, one...), set(2, 0x8f)}, -127,
			map[int]float32{0: 113, 16: 1}},
		// All scales are 0 - 32 but that of part 3: low bits 1 in the high half of
		// byte 1, high bits 2 in bits 6 and 7 of the word: 33 - 32.
		"iq4_xs": {gpu.IQ4_XS, []func([]byte){set(0, one...), set(2, 0x80), set(5, 0x10), set(8+48, 0x7f)}, 32 * 127,
			func() map[int]float32 {
				want := map[int]float32{}
				for i := 96; i < 128; i++ {
					want[i] = -127
				}
				want[96], want[112] = 113, -10
				return want
			}()},
	} {
		b, y := make([]byte, c.dtype.BlockBytes()), make([]float32, c.dtype.BlockLen())
		for _, f := range c.set {
			f(b)
		}
		quant.Dequantize(c.dtype, y, b)
		for i, got := range y {
			want, ok := c.want[i]
			if !ok {
				want = c.rest
			}
			if got != want {
				t.Errorf("%s: element %d is %v, want %v", name, i, got, want)
			}
		}
	}
}

// Encoded by hand from the formulas. q4_0: the furthest, -4, gets d = 0.5 and
// code 0; 3.5/0.5 + 8.5 = 15.5 is cut to 15, 0.7/0.5 + 8.5 = 9.9 to 9.
func TestEncodedByHand(t *testing.T) {
	x := make([]float32, 32)
	x[0], x[1], x[17] = -4, 3.5, 0.7
	for d, want := range map[gpu.DType]map[int]byte{
		gpu.Q4_0: {0: 0x00, 1: 0x38, 2: 0x80, 3: 0x9f, 4: 0x88},
		// d = 7.5/15 = 0.5, m = -4: 0 is code 8, 3.5 is 15, 0.7 is 9.
		gpu.Q4_1: {0: 0x00, 1: 0x38, 2: 0x00, 3: 0xc4, 4: 0x80, 5: 0x9f, 6: 0x88},
		// d = 4/127, F16 0x2808; 3.5 is 111.1, 0.7 is 22.2.
		gpu.Q8_0: {0: 0x08, 1: 0x28, 2: 0x81, 3: 111, 4: 0, 19: 22},
		// d = 0.25: -4 is 0, 0 is 16, 3.5 is 30, 0.7 is 18.8 + 0.5, cut to 19.
		gpu.Q5_0: {0: 0x00, 1: 0x34, 2: 0xfe, 3: 0xff, 6: 0x00, 7: 0x3e, 8: 0x00},
		// d = 7.5/31, F16 0x33be: 0 is 16.5 + 0.5, which float32 puts at 17; 0.7
		// is 19.4 + 0.5.
		gpu.Q5_1: {0: 0xbe, 1: 0x33, 4: 0xfe, 8: 0x10, 9: 0x3f},
	} {
		b := make([]byte, d.BlockBytes())
		quant.Quantize(d, b, x)
		for i, v := range want {
			if b[i] != v {
				t.Errorf("%s: byte %d is %#02x, want %#02x (% x)", d, i, b[i], v, b)
			}
		}
	}
}
