package quant_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// Finite is what looking at every decoded element says, for any bytes.
func TestFiniteEqualsTheTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(gpu.WeightDTypes()).Draw(t, "type")
		blocks := rapid.IntRange(0, 70).Draw(t, "blocks")
		src := make([]byte, blocks*d.BlockBytes())
		quiet := rapid.Bool().Draw(t, "quiet") // random bits of many blocks are hardly ever finite
		random := rapid.Uint64().Draw(t, "seed")
		for i := range src {
			random = random*6364136223846793005 + 1442695040888963407
			src[i] = byte(random >> 56)
			if quiet {
				src[i] &= 0x3f
			}
		}
		if quiet && blocks > 0 && rapid.Bool().Draw(t, "set") {
			src[rapid.IntRange(0, len(src)-1).Draw(t, "byte")] = 0xff
		}
		x, want := make([]float32, blocks*d.BlockLen()), true
		quant.Dequantize(d, x, src)
		for _, v := range x {
			want = want && v-v == 0
		}
		if got := quant.Finite(d, src); got != want {
			t.Fatalf("%s: %x: %v, want %v", d, src, got, want)
		}
	})
}

// The largest finite numbers of each type are finite, the next ones are not,
// and neither are those of other exponents beside them.
func TestFiniteAtTheLimit(t *testing.T) {
	for d, numbers := range map[gpu.DType][4]uint32{ // largest, infinite, smallest NaN, largest NaN
		gpu.F32:  {0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fffffff},
		gpu.F16:  {0x7bff, 0x7c00, 0x7c01, 0x7fff},
		gpu.BF16: {0x7f7f, 0x7f80, 0x7f81, 0x7fff},
	} {
		size := d.BlockBytes()
		for i, bits := range numbers {
			for _, sign := range []uint32{0, 1 << (8*size - 1)} {
				for at := range 37 {
					src := make([]byte, 37*size)
					for j := range 37 {
						put(src[j*size:], size, numbers[0])
					}
					put(src[at*size:], size, bits|sign)
					if got := quant.Finite(d, src); got != (i == 0) {
						t.Fatalf("%s: %x at %d is finite: %v", d, bits|sign, at, got)
					}
				}
			}
		}
	}
}

func put(to []byte, size int, bits uint32) {
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], bits)
	copy(to[:size], word[:])
}

// placed are weights with files.
type placed struct{ gpu.Weights }

func (placed) Place(name string, index int) (string, int) {
	return "part.gguf: tensor stored." + name, 100 + index
}

func TestCheckRowSaysWhatWhereAndTheRemedy(t *testing.T) {
	inf := float32(math.Inf(1))
	row := func(d gpu.DType, n, at int, x float32) []byte {
		all, b := make([]float32, n), make([]byte, d.Bytes(n))
		all[at] = x
		quant.Quantize(d, b, all)
		return b
	}
	matrix := func(d gpu.DType, r []byte, rows int) gpu.Tensor {
		n := len(r) / d.BlockBytes() * d.BlockLen()
		return gpu.Tensor{Name: "up", DType: d, Shape: []int{rows, n}, Data: append(make([]byte, (rows-1)*len(r)), r...)}
	}
	minimum := row(gpu.Q4_1, 64, 0, 1)
	binary.LittleEndian.PutUint16(minimum[20+2:], 0xfc00)
	floats := matrix(gpu.F32, row(gpu.F32, 64, 40, -1e38), 3)
	vector := gpu.Tensor{Name: "norm", DType: gpu.BF16, Shape: []int{8}, Data: row(gpu.BF16, 8, 5, -inf)}
	for name, c := range map[string]struct {
		w    gpu.Weights
		t    gpu.Tensor
		row  int
		held gpu.DType
		as   []byte // nil: the row as it is
		want string
	}{
		"an element": {nil, matrix(gpu.F16, row(gpu.F16, 8, 7, inf), 3), 2, gpu.F16, nil,
			"tensor up: row 2, column 7 is +Inf; the file is damaged or was converted wrongly: download it again or convert it again"},
		"in a file": {placed{}, matrix(gpu.F32, row(gpu.F32, 8, 1, float32(math.NaN())), 1), 0, gpu.F32, nil,
			"part.gguf: tensor stored.up: row 100, column 1 is NaN; the file is damaged"},
		"a scale": {nil, matrix(gpu.Q8_0, row(gpu.Q8_0, 64, 33, inf), 2), 1, gpu.Q8_0, nil,
			"tensor up: row 1, columns 32 to 63 of q8_0 have the scale NaN; the file is damaged"},
		"a minimum": {nil, matrix(gpu.Q4_1, minimum, 2), 1, gpu.Q4_1, nil,
			"tensor up: row 1, columns 32 to 63 of q4_1 have the minimum -Inf; the file is damaged"},
		"a vector":           {nil, vector, 0, gpu.BF16, nil, "tensor norm: element 5 is -Inf; the file is damaged"},
		"a vector in a file": {placed{}, vector, 0, gpu.BF16, nil, "part.gguf: tensor stored.norm: element 105 is -Inf"},
		"damaged and quantised": {nil, matrix(gpu.F32, row(gpu.F32, 64, 40, inf), 3), 2, gpu.Q8_0, row(gpu.Q8_0, 64, 40, inf),
			"tensor up: row 2, column 40 is +Inf; the file is damaged"},
		"too large for a scale": {nil, floats, 2, gpu.Q8_0, row(gpu.Q8_0, 64, 40, -1e38),
			"tensor up: row 2, columns 32 to 63 reach -1e+38, which is too large for q8_0; if the model needs such values, use weight-dtype f32; otherwise the file is damaged: download it again or convert it again"},
		"too large for f16":  {nil, floats, 2, gpu.F16, row(gpu.F16, 64, 40, -1e38), "tensor up: row 2, column 40 reaches -1e+38, which is too large for f16; if"},
		"large, but finite":  {nil, floats, 2, gpu.F32, nil, ""},
		"another row is bad": {nil, floats, 1, gpu.F32, nil, ""},
	} {
		size := len(c.t.Data) / max(1, c.t.Shape[0])
		if len(c.t.Shape) == 1 {
			size = len(c.t.Data)
		}
		if c.as == nil {
			c.as = c.t.Data[c.row*size : (c.row+1)*size]
		}
		err := quant.CheckRow(c.w, c.t, c.row, c.held, c.as)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
