package intgemm

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

// integers is a problem for Multiply without its layouts: [row] or [token], then
// [column].
type integers struct {
	form   layout.Form
	groups int
	w      [layout.PanelRows][]int    // offset included
	ws     [layout.PanelRows][]uint16 // float16 per group
	x      [][]float32
}

// randomIntegers has weights and activations of all sizes, including extremes.
func randomIntegers(r *rand.Rand, f layout.Form, groups, tokens int) *integers {
	p := &integers{form: f, groups: groups, x: make([][]float32, tokens)}
	top := 255
	if f == layout.Q4 {
		top = 15
	}
	for row := range p.w {
		kind := r.IntN(4)
		for c := 0; c < groups*layout.GroupCols; c++ {
			w := r.IntN(top + 1)
			switch kind {
			case 0:
				w = top * r.IntN(2)
			case 1:
				w = top * (row & 1)
			}
			p.w[row] = append(p.w[row], w)
		}
		for range groups {
			// Any finite float16: the exponent is 0 to 30.
			p.ws[row] = append(p.ws[row], uint16(r.IntN(2)<<15|r.IntN(31)<<10|r.IntN(1024)))
		}
	}
	for t := range p.x {
		for g := range groups {
			kind, size := r.IntN(6), math.Exp(r.NormFloat64()*4)
			for c := range layout.GroupCols {
				v := r.NormFloat64() * size
				switch {
				case kind == 0:
					v = 0
				case kind == 1:
					v = size * float64(1-2*(c&1))
				case kind == 2 && g == 0:
					v = 1e-33
				}
				p.x[t] = append(p.x[t], float32(v))
			}
		}
	}
	return p
}

// panel is the weights as package layout describes.
func (p *integers) panel() []byte {
	b := make([]byte, 0, p.form.PanelBytes(p.groups*layout.GroupCols))
	for g := range p.groups {
		at := func(row, c int) int { return p.w[row][g*layout.GroupCols+c] }
		steps := 8
		if p.form == layout.Q4 {
			steps = 4
		}
		for s := range steps {
			for row := range layout.PanelRows {
				for i := range 4 {
					e := at(row, 4*s+i)
					if p.form == layout.Q4 {
						e |= at(row, 16+4*s+i) << 4
					}
					b = append(b, byte(e))
				}
			}
		}
		for row := range layout.PanelRows {
			b = binary.LittleEndian.AppendUint16(b, p.ws[row][g])
		}
	}
	return b
}

func (p *integers) tile(l simd.Level) []byte {
	b := make([]byte, TileBytes(p.groups, len(p.x)))
	for t, x := range p.x {
		QuantizeRow(l, Quads, x, b, t, len(p.x))
	}
	return b
}

// twin is the sum that row and token must have, to the bit; it starts from y.
func (p *integers) twin(l simd.Level, row, token int, y float32) float32 {
	offset := 128
	if p.form == layout.Q4 {
		offset = 8
	}
	for g := range p.groups {
		q, scale := quantizeTwin(p.x[token][g*layout.GroupCols : (g+1)*layout.GroupCols])
		sum := int64(0)
		for c, e := range q {
			sum += int64(e) * int64(p.w[row][g*layout.GroupCols+c]-offset)
		}
		if factor := kerneltest.HalfTwin(p.ws[row][g]) * scale; l == simd.Portable {
			y += float32(float32(sum) * factor)
		} else {
			y = kerneltest.FMA32(float32(sum), factor, y)
		}
	}
	return y
}

// checkIntegers compares all of y, including the elements between rows.
func checkIntegers(t *testing.T, l simd.Level, p *integers, add bool) {
	t.Helper()
	tokens := len(p.x)
	ldy := layout.PanelRows + 5
	y := make([]float32, tokens*ldy+3)
	for i := range y {
		y[i] = float32(i%7) - 3
	}
	want := slices.Clone(y)
	for token := range tokens {
		for row := range layout.PanelRows {
			from := float32(0)
			if add {
				from = y[token*ldy+row]
			}
			want[token*ldy+row] = p.twin(l, row, token, from)
		}
	}
	Multiply(l, p.form, p.panel(), p.groups, p.tile(l), tokens, y, ldy, add, Fetch{Ahead: 4096, Every: 1 + tokens%3})
	for i := range y {
		if !kerneltest.Same(y[i], want[i]) {
			t.Fatalf("%s %s, %d groups, %d tokens, add %v: y[%d][%d] is %v, want %v",
				l, p.form, p.groups, tokens, add, i/ldy, i%ldy, y[i], want[i])
		}
	}
}

func eachInteger(do func(l simd.Level, f layout.Form, tokens int)) {
	for _, l := range kerneltest.VectorLevels() {
		for _, f := range []layout.Form{layout.Q8, layout.Q4} {
			for tokens := 1; tokens <= layout.TileTokens(l); tokens++ {
				do(l, f, tokens)
			}
		}
	}
}

func TestIntGemmIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	eachInteger(func(l simd.Level, f layout.Form, tokens int) {
		for _, groups := range []int{0, 1, 2, 3, 29} {
			checkIntegers(t, l, randomIntegers(r, f, groups, tokens), groups%2 == 1)
		}
	})
}

// TestIntGemmExtremes has the largest possible sums of each sign.
func TestIntGemmExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	eachInteger(func(l simd.Level, f layout.Form, tokens int) {
		for _, w := range []int{0, 15, 255} {
			p := randomIntegers(r, f, 2, tokens)
			for row := range p.w {
				for c := range p.w[row] {
					p.w[row][c] = w
					if f == layout.Q4 {
						p.w[row][c] = min(w, 15)
					}
				}
			}
			for token := range p.x {
				for c := range p.x[token] {
					p.x[token][c] = float32(1 - 2*(token&1))
				}
			}
			checkIntegers(t, l, p, false)
		}
	})
}

// TestIntGemmSplitsAndTiles: any split of the groups and any tile has the same bits.
func TestIntGemmSplitsAndTiles(t *testing.T) {
	const groups = 9
	r := rand.New(rand.NewPCG(5, 6))
	eachInteger(func(l simd.Level, f layout.Form, tokens int) {
		p := randomIntegers(r, f, groups, tokens)
		panel, x, size := p.panel(), p.tile(l), f.PanelBytes(layout.GroupCols)
		whole, split := make([]float32, tokens*layout.PanelRows), make([]float32, tokens*layout.PanelRows)
		Multiply(l, f, panel, groups, x, tokens, whole, layout.PanelRows, false, Fetch{})
		for g := 0; g < groups; {
			n := 1 + r.IntN(groups-g)
			Multiply(l, f, panel[g*size:], n, x[TileBytes(g, tokens):], tokens, split, layout.PanelRows, g > 0, Fetch{})
			g += n
		}
		for token := range tokens {
			alone, row := *p, make([]float32, layout.PanelRows)
			alone.x = p.x[token : token+1]
			Multiply(l, f, panel, groups, alone.tile(l), 1, row, layout.PanelRows, false, Fetch{})
			for i := range row {
				at := token*layout.PanelRows + i
				if !kerneltest.Same(whole[at], split[at]) || !kerneltest.Same(whole[at], row[i]) {
					t.Fatalf("%s %s token %d of %d row %d: whole %v, split %v, alone %v", l, f, token, tokens, i, whole[at], split[at], row[i])
				}
			}
		}
	})
}

// TestIntGemmMutants: one wrong nibble, scale or correction is noticed.
func TestIntGemmMutants(t *testing.T) {
	const groups = 3
	r := rand.New(rand.NewPCG(7, 8))
	eachInteger(func(l simd.Level, f layout.Form, tokens int) {
		p := randomIntegers(r, f, groups, tokens)
		for row := range p.ws {
			p.ws[row] = []uint16{0x3c00, 0x3c00, 0x3c00} // 1
		}
		for token := range p.x {
			for c := range p.x[token] {
				p.x[token][c] = float32(1 + (c+token)%5)
			}
		}
		panel, x := p.panel(), p.tile(l)
		run := func() []float32 {
			y := make([]float32, tokens*layout.PanelRows)
			Multiply(l, f, panel, groups, x, tokens, y, layout.PanelRows, false, Fetch{})
			return y
		}
		want := run()
		mutate := func(b []byte, at int, bit byte, what string) {
			b[at] ^= bit
			if slices.Equal(run(), want) {
				t.Errorf("%s %s %d tokens: %s a change of byte %d is not noticed", l, f, tokens, what, at)
			}
			b[at] ^= bit
		}
		for range 40 {
			at := r.IntN(len(panel))
			mutate(panel, at, 0x10, "panel")
			mutate(panel, at&^1, 0x04|0x40*byte(r.IntN(2)), "panel")
		}
		act := tokens * tokenBytes
		for token := range tokens {
			g := r.IntN(groups) * act
			if l != simd.AVX2 || f != layout.Q8 { // which takes off the offset itself
				mutate(x, g+4*(8*tokens+token), 0x10, "correction")
			}
			mutate(x, g+4*(9*tokens+token)+2, 0x10, "scale")
			mutate(x, g+4*(r.IntN(8)*tokens+token)+r.IntN(4), 1, "activation")
		}
	})
}

// TestIntGemmPoison: an infinity or a NaN makes only its token's results NaN.
func TestIntGemmPoison(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	eachInteger(func(l simd.Level, f layout.Form, tokens int) {
		for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			p, victim := randomIntegers(r, f, 3, tokens), r.IntN(tokens)
			p.x[victim][r.IntN(96)] = float32(bad)
			checkIntegers(t, l, p, true)
			if v := p.twin(l, 0, victim, 0); v == v {
				t.Fatalf("%v becomes %v", bad, v)
			}
		}
	})
}

func FuzzMultiply(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(4), true, false)
	f.Add(uint64(2), uint8(40), uint8(12), false, true)
	f.Fuzz(func(t *testing.T, seed uint64, groups, tokens uint8, q4, add bool) {
		form := layout.Q8
		if q4 {
			form = layout.Q4
		}
		for _, l := range kerneltest.VectorLevels() {
			n := 1 + int(tokens)%layout.TileTokens(l)
			checkIntegers(t, l, randomIntegers(rand.New(rand.NewPCG(seed, 0)), form, int(groups)%48, n), add)
		}
	})
}
