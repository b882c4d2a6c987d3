package gemm

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
	"pgregory.net/rapid"
)

// product multiplies as callers do: tiles of packed activations, whole columns.
func product(l simd.Level, f layout.Form, panel []byte, cols int, x []float32, tokens int, y []float32, ldy int, add bool) {
	tiles := layout.NewTiling(tokens, layout.TileTokens(l))
	for i := range tiles.Tiles {
		t, n := tiles.At(i)
		in := x[t*cols : (t+n)*cols]
		if n > 1 {
			in = make([]float32, n*cols)
			PackTile(l, in, x[t*cols:], cols, n, cols)
		}
		Multiply(l, f, panel, cols, in, n, y[t*ldy:], ldy, add, 4096)
	}
}

// worst is the largest error of y against float64, in units of the tolerance:
// cols roundings of a sum that never exceeds the sum of magnitudes.
func worst(values [][]float64, x []float32, tokens int, start, y []float32, ldy int) float64 {
	most := 0.0
	cols := len(values[0])
	for t := range tokens {
		for r := range layout.PanelRows {
			sum := float64(start[t*ldy+r])
			size := math.Abs(sum)
			if r < len(values) {
				for c, w := range values[r] {
					p := w * float64(x[t*cols+c])
					sum, size = sum+p, size+math.Abs(p)
				}
			}
			tolerance := 0x1p-23 * float64(cols+1) * size
			if d := math.Abs(float64(y[t*ldy+r]) - sum); d > 0 || d != d {
				most = max(most, d/tolerance)
			}
		}
	}
	return most
}

func TestGemmAgainstFloat64(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, l := range kerneltest.VectorLevels() {
		for _, f := range layout.Forms {
			for i, cols := range kerneltest.ColumnsOf(f) {
				for _, tokens := range []int{1, 2, 5, 12, 13, 31} {
					rows := []int{32, 1, 17}[i%3]
					encoded, values := kerneltest.NativeRows(r, f, rows, cols)
					panel := make([]byte, f.PanelBytes(cols))
					layout.Pack(f, panel, cols, encoded)
					x, ldy := kerneltest.Normal(r, tokens*cols), layout.PanelRows+i
					start, y := make([]float32, tokens*ldy), make([]float32, tokens*ldy)
					if add := tokens%2 == 0; add {
						start = kerneltest.Normal(r, tokens*ldy)
						copy(y, start)
						product(l, f, panel, cols, x, tokens, y, ldy, true)
					} else {
						product(l, f, panel, cols, x, tokens, y, ldy, false)
					}
					if e := worst(values, x, tokens, start, y, ldy); !(e <= 1) {
						t.Fatalf("%s, %s, %d rows of %d columns, %d tokens: error of %.3g tolerances", l, f, rows, cols, tokens, e)
					}
				}
			}
		}
	}
}

// The comparison above must see one wrong element of a panel. The seed is one for which
// no change hits a group of Q4_K or Q6_K whose scale is 0.
func TestMutationIsCaught(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, l := range kerneltest.VectorLevels() {
		for _, f := range layout.Forms {
			cols, tokens := max(96, f.Unit()), 7
			encoded, values := kerneltest.NativeRows(r, f, 32, cols)
			panel := make([]byte, f.PanelBytes(cols))
			layout.Pack(f, panel, cols, encoded)
			x, y := kerneltest.Normal(r, tokens*cols), make([]float32, tokens*layout.PanelRows)
			for range 20 {
				at := r.IntN(len(panel)) &^ 1
				was := [2]byte{panel[at], panel[at+1]}
				panel[at] ^= 0x55 // a value of integers, the mantissa of others
				panel[at+1] ^= 0x55
				product(l, f, panel, cols, x, tokens, y, layout.PanelRows, false)
				panel[at], panel[at+1] = was[0], was[1]
				if f == layout.F32 && at%4 == 0 {
					continue // bits that are within the tolerance
				}
				if e := worst(values, x, tokens, make([]float32, len(y)), y, layout.PanelRows); e <= 1 {
					t.Fatalf("%s, %s: a wrong byte %d of %d is not noticed", l, f, at, len(panel))
				}
			}
		}
	}
}

// Tiles, ranges of columns and another form with the same numbers do not change a bit,
// and only 32 elements per token are written.
func TestGemmBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(kerneltest.VectorLevels()).Draw(t, "level")
		f := rapid.SampledFrom(layout.Forms).Draw(t, "form")
		cols, unit := rapid.IntRange(1, 300).Draw(t, "cols"), max(2, f.Unit())
		if f.Integer() {
			cols = (cols + unit - 1) / unit * unit
		}
		tokens := rapid.IntRange(1, layout.TileTokens(l)).Draw(t, "tokens")
		ldy := rapid.IntRange(layout.PanelRows, layout.PanelRows+40).Draw(t, "ldy")
		add := rapid.Bool().Draw(t, "add")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		encoded, _ := kerneltest.NativeRows(r, f, rapid.IntRange(0, layout.PanelRows).Draw(t, "rows"), cols)
		panel := make([]byte, f.PanelBytes(cols))
		layout.Pack(f, panel, cols, encoded)
		if f == layout.Q8 || f == layout.Q4 { // scales of any size
			size := f.PanelBytes(layout.GroupCols)
			for i := size - 2*layout.PanelRows; i < len(panel); i += size {
				h, _ := kerneltest.RandomHalf(r, 0, 30)
				binary.LittleEndian.PutUint16(panel[i+2*r.IntN(layout.PanelRows):], h)
			}
		}
		x, packed := kerneltest.Normal(r, tokens*cols), make([]float32, tokens*cols)
		PackTile(l, packed, x, cols, tokens, cols)

		// Token by token, all columns at once, from the same numbers as F32.
		asF32 := make([]byte, layout.F32.PanelBytes(cols))
		numbers := layout.Floats(asF32)
		row := make([]float32, cols)
		for i := range layout.PanelRows {
			layout.Row(f, panel, cols, i, row)
			for c, w := range row {
				numbers[c*layout.PanelRows+i] = w
			}
		}
		off := rapid.IntRange(0, 3).Draw(t, "off")
		y := kerneltest.Normal(r, off+tokens*ldy)
		want := append([]float32(nil), y...)
		for i := range tokens {
			Multiply(l, layout.F32, asF32, cols, x[i*cols:], 1, want[off+i*ldy:], 0, add, 0)
		}

		// As a tile, in ranges of columns.
		for from := 0; from < cols; {
			to := min(cols, from+unit*rapid.IntRange(1, 1+cols/unit).Draw(t, "range"))
			Multiply(l, f, panel[f.PanelBytes(from):], to-from, packed[from*tokens:], tokens, y[off:off+(tokens-1)*ldy+layout.PanelRows], ldy, add || from > 0, 64*from)
			from = to
		}
		if err := kerneltest.SameBits(y, want); err != nil {
			t.Fatal(err)
		}
	})
}

func TestGemmOfNoColumns(t *testing.T) {
	for _, l := range kerneltest.VectorLevels() {
		y := kerneltest.Normal(rand.New(rand.NewPCG(1, 1)), layout.PanelRows+1)
		kept := append([]float32(nil), y...)
		Multiply(l, layout.F32, nil, 0, nil, 1, y, 0, true, 0)
		if err := kerneltest.SameBits(y, kept); err != nil {
			t.Error(err)
		}
		Multiply(l, layout.F32, nil, 0, nil, 1, y, 0, false, 0)
		clear(kept[:layout.PanelRows])
		if err := kerneltest.SameBits(y, kept); err != nil {
			t.Error(err)
		}
	}
}

func TestGemmRefusesWhatDoesNotFit(t *testing.T) {
	panel, x, y := make([]byte, layout.F32.PanelBytes(4)), make([]float32, 8), make([]float32, 64)
	for name, call := range map[string]func(){
		"no tokens": func() { Multiply(simd.Portable, layout.F32, panel, 4, x, 0, y, 32, false, 0) },
		"too many tokens": func() {
			Multiply(simd.Portable, layout.F32, panel, 1, x[:9:9], layout.TileTokens(simd.Portable)+1, y, 1, false, 0)
		},
		"short panel":  func() { Multiply(simd.Portable, layout.F32, panel[1:], 4, x, 2, y, 32, false, 0) },
		"short x":      func() { Multiply(simd.Portable, layout.F32, panel, 4, x[1:], 2, y, 32, false, 0) },
		"short y":      func() { Multiply(simd.Portable, layout.F32, panel, 4, x, 2, y[1:], 32, false, 0) },
		"rows overlap": func() { Multiply(simd.Portable, layout.F32, panel, 4, x, 2, y, 31, false, 0) },
		"a short row":  func() { layout.Pack(layout.F32, panel, 4, [][]byte{make([]byte, 15)}) },
		"33 rows":      func() { layout.Pack(layout.F32, panel, 4, make([][]byte, 33)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
