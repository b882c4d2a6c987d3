package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

var allForms = []Form{F32, BF16, F16, Q8, Q4, Q41, Q4K, Q6K}

// nativeRows are random rows in a form's own encoding, and what they stand for.
// Scales are of about the same size.
func nativeRows(r *rand.Rand, f Form, rows, cols int) (encoded [][]byte, values [][]float64) {
	le := binary.LittleEndian
	for range rows {
		var row []byte
		var value []float64
		switch f {
		case F32:
			for range cols {
				x := float32(r.NormFloat64())
				row, value = le.AppendUint32(row, math.Float32bits(x)), append(value, float64(x))
			}
		case BF16:
			for range cols {
				x := math.Float32bits(float32(r.NormFloat64())) >> 16
				row, value = le.AppendUint16(row, uint16(x)), append(value, float64(math.Float32frombits(x<<16)))
			}
		case F16:
			for range cols {
				h, x := randomHalf(r, 0, 17)
				row, value = le.AppendUint16(row, h), append(value, x)
			}
		case Q8:
			for range cols / GroupCols {
				h, scale := randomHalf(r, 12, 15)
				row = le.AppendUint16(row, h)
				for range GroupCols {
					q := int8(r.IntN(256) - 128)
					row, value = append(row, byte(q)), append(value, float64(q)*scale)
				}
			}
		case Q4:
			for range cols / GroupCols {
				h, scale := randomHalf(r, 12, 15)
				row = le.AppendUint16(row, h)
				group := make([]float64, GroupCols)
				for j := range GroupCols / 2 {
					b := byte(r.IntN(256))
					row = append(row, b)
					group[j], group[16+j] = float64(int(b&15)-8)*scale, float64(int(b>>4)-8)*scale
				}
				value = append(value, group...)
			}
		case Q41, Q4K, Q6K:
			for range cols / f.Unit() {
				b := randomBlock(r, f, 12, 15)
				row = append(row, b.encoded...)
				for c := range f.Unit() {
					value = append(value, b.weight(c))
				}
			}
		}
		encoded, values = append(encoded, row), append(values, value)
	}
	return encoded, values
}

// randomHalf is a binary16 of either sign with an exponent from lo to hi (0 is
// subnormal), and what it stands for.
func randomHalf(r *rand.Rand, lo, hi int) (uint16, float64) {
	h := uint16(r.IntN(1<<10)) | uint16(lo+r.IntN(hi-lo+1))<<10 | uint16(r.IntN(2))<<15
	value := float64(1<<10|h&0x3ff) * math.Pow(2, float64(h>>10&31)-25)
	if h>>10&31 == 0 {
		value = float64(h&0x3ff) * 0x1p-24
	}
	if h>>15 == 1 {
		value = -value
	}
	return h, value
}

func normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// colsOf are awkward numbers of columns.
func colsOf(f Form) []int {
	if f.Unit() > GroupCols {
		return []int{256, 512, 1024}
	}
	if f.Integer() {
		return []int{32, 64, 96, 352}
	}
	return []int{1, 2, 3, 5, 31, 64, 65, 130, 257}
}

// product multiplies as callers do: tiles of packed activations, whole columns.
func product(l Level, f Form, panel []byte, cols int, x []float32, tokens int, y []float32, ldy int, add bool) {
	tiles := NewTiling(tokens, l.TileTokens())
	for i := range tiles.Tiles {
		t, n := tiles.At(i)
		in := x[t*cols : (t+n)*cols]
		if n > 1 {
			in = make([]float32, n*cols)
			PackTile(l, in, x[t*cols:], cols, n, cols)
		}
		Gemm(l, f, panel, cols, in, n, y[t*ldy:], ldy, add, 4096)
	}
}

// worst is the largest error of y against float64, in units of the tolerance:
// cols roundings of a sum that never exceeds the sum of magnitudes.
func worst(values [][]float64, x []float32, tokens int, start, y []float32, ldy int) float64 {
	most := 0.0
	cols := len(values[0])
	for t := range tokens {
		for r := range PanelRows {
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
	for _, l := range vectorLevels() {
		for _, f := range allForms {
			for i, cols := range colsOf(f) {
				for _, tokens := range []int{1, 2, 5, 12, 13, 31} {
					rows := []int{32, 1, 17}[i%3]
					encoded, values := nativeRows(r, f, rows, cols)
					panel := make([]byte, f.PanelBytes(cols))
					Pack(f, panel, cols, encoded)
					x, ldy := normal(r, tokens*cols), PanelRows+i
					start, y := make([]float32, tokens*ldy), make([]float32, tokens*ldy)
					if add := tokens%2 == 0; add {
						start = normal(r, tokens*ldy)
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

// One wrong element of a panel must be seen by the comparison above.
func TestMutationIsCaught(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, l := range vectorLevels() {
		for _, f := range allForms {
			cols, tokens := max(96, f.Unit()), 7
			encoded, values := nativeRows(r, f, 32, cols)
			panel := make([]byte, f.PanelBytes(cols))
			Pack(f, panel, cols, encoded)
			x, y := normal(r, tokens*cols), make([]float32, tokens*PanelRows)
			for range 20 {
				at := r.IntN(len(panel)) &^ 1
				was := [2]byte{panel[at], panel[at+1]}
				panel[at] ^= 0x55 // a value of integers, the mantissa of others
				panel[at+1] ^= 0x55
				product(l, f, panel, cols, x, tokens, y, PanelRows, false)
				panel[at], panel[at+1] = was[0], was[1]
				if f == F32 && at%4 == 0 {
					continue // bits that are within the tolerance
				}
				if e := worst(values, x, tokens, make([]float32, len(y)), y, PanelRows); e <= 1 {
					t.Fatalf("%s, %s: byte %d of %d may be wrong", l, f, at, len(panel))
				}
			}
		}
	}
}

// sameBits compares results with guards around them.
func sameBits(a, b []float32) error {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return fmt.Errorf("element %d is %v, want exactly %v", i, a[i], b[i])
		}
	}
	return nil
}

// Tiles, ranges of columns and the form that holds the same numbers change no
// bit, and nothing but 32 elements a token is written.
func TestGemmBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(vectorLevels()).Draw(t, "level")
		f := rapid.SampledFrom(allForms).Draw(t, "form")
		cols, unit := rapid.IntRange(1, 300).Draw(t, "cols"), max(2, f.Unit())
		if f.Integer() {
			cols = (cols + unit - 1) / unit * unit
		}
		tokens := rapid.IntRange(1, widestTile[l]).Draw(t, "tokens")
		ldy := rapid.IntRange(PanelRows, PanelRows+40).Draw(t, "ldy")
		add := rapid.Bool().Draw(t, "add")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		encoded, _ := nativeRows(r, f, rapid.IntRange(0, PanelRows).Draw(t, "rows"), cols)
		panel := make([]byte, f.PanelBytes(cols))
		Pack(f, panel, cols, encoded)
		if f == Q8 || f == Q4 { // scales of any size
			size := f.PanelBytes(GroupCols)
			for i := size - 2*PanelRows; i < len(panel); i += size {
				h, _ := randomHalf(r, 0, 30)
				binary.LittleEndian.PutUint16(panel[i+2*r.IntN(PanelRows):], h)
			}
		}
		x, packed := normal(r, tokens*cols), make([]float32, tokens*cols)
		PackTile(l, packed, x, cols, tokens, cols)

		// Token by token, all columns at once, from the same numbers as F32.
		asF32 := make([]byte, F32.PanelBytes(cols))
		numbers := floats(asF32)
		row := make([]float32, cols)
		for i := range PanelRows {
			Row(f, panel, cols, i, row)
			for c, w := range row {
				numbers[c*PanelRows+i] = w
			}
		}
		off := rapid.IntRange(0, 3).Draw(t, "off")
		y := normal(r, off+tokens*ldy)
		want := append([]float32(nil), y...)
		for i := range tokens {
			Gemm(l, F32, asF32, cols, x[i*cols:], 1, want[off+i*ldy:], 0, add, 0)
		}

		// As a tile, in ranges of columns.
		for from := 0; from < cols; {
			to := min(cols, from+unit*rapid.IntRange(1, 1+cols/unit).Draw(t, "range"))
			Gemm(l, f, panel[f.PanelBytes(from):], to-from, packed[from*tokens:], tokens, y[off:off+(tokens-1)*ldy+PanelRows], ldy, add || from > 0, 64*from)
			from = to
		}
		if err := sameBits(y, want); err != nil {
			t.Fatal(err)
		}
	})
}

func TestGemmOfNoColumns(t *testing.T) {
	for _, l := range vectorLevels() {
		y := normal(rand.New(rand.NewPCG(1, 1)), PanelRows+1)
		kept := append([]float32(nil), y...)
		Gemm(l, F32, nil, 0, nil, 1, y, 0, true, 0)
		if err := sameBits(y, kept); err != nil {
			t.Error(err)
		}
		Gemm(l, F32, nil, 0, nil, 1, y, 0, false, 0)
		clear(kept[:PanelRows])
		if err := sameBits(y, kept); err != nil {
			t.Error(err)
		}
	}
}

func TestGemmRefusesWhatDoesNotFit(t *testing.T) {
	panel, x, y := make([]byte, F32.PanelBytes(4)), make([]float32, 8), make([]float32, 64)
	for name, call := range map[string]func(){
		"no tokens":       func() { Gemm(Portable, F32, panel, 4, x, 0, y, 32, false, 0) },
		"too many tokens": func() { Gemm(Portable, F32, panel, 1, x[:9:9], widestTile[Portable]+1, y, 1, false, 0) },
		"short panel":     func() { Gemm(Portable, F32, panel[1:], 4, x, 2, y, 32, false, 0) },
		"short x":         func() { Gemm(Portable, F32, panel, 4, x[1:], 2, y, 32, false, 0) },
		"short y":         func() { Gemm(Portable, F32, panel, 4, x, 2, y[1:], 32, false, 0) },
		"rows overlap":    func() { Gemm(Portable, F32, panel, 4, x, 2, y, 31, false, 0) },
		"a short row":     func() { Pack(F32, panel, 4, [][]byte{make([]byte, 15)}) },
		"33 rows":         func() { Pack(F32, panel, 4, make([][]byte, 33)) },
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
