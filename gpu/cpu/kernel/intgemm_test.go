package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// integers is a problem for IntGemm written down without its layouts: [row] or
// [token], then [column].
type integers struct {
	form   Form
	groups int
	w      [PanelRows][]int    // offset included
	ws     [PanelRows][]uint16 // float16 per group
	x      [][]float32
}

// randomIntegers has weights and activations of all sizes, extremes among them.
func randomIntegers(r *rand.Rand, f Form, groups, tokens int) *integers {
	p := &integers{form: f, groups: groups, x: make([][]float32, tokens)}
	top := 255
	if f == Q4 {
		top = 15
	}
	for row := range p.w {
		kind := r.IntN(4)
		for c := 0; c < groups*GroupCols; c++ {
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
			for c := range GroupCols {
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

// panel lays the weights out as form.go says.
func (p *integers) panel() []byte {
	b := make([]byte, 0, p.form.PanelBytes(p.groups*GroupCols))
	for g := range p.groups {
		at := func(row, c int) int { return p.w[row][g*GroupCols+c] }
		steps := 8
		if p.form == Q4 {
			steps = 4
		}
		for s := range steps {
			for row := range PanelRows {
				for i := range 4 {
					e := at(row, 4*s+i)
					if p.form == Q4 {
						e |= at(row, 16+4*s+i) << 4
					}
					b = append(b, byte(e))
				}
			}
		}
		for row := range PanelRows {
			b = binary.LittleEndian.AppendUint16(b, p.ws[row][g])
		}
	}
	return b
}

func (p *integers) tile(l Level) []byte {
	b := make([]byte, IntTileBytes(p.groups, len(p.x)))
	for t, x := range p.x {
		QuantizeRow(l, Quads, x, b, t, len(p.x))
	}
	return b
}

// twin is the sum that row and token must have, to the bit, from y on.
func (p *integers) twin(l Level, row, token int, y float32) float32 {
	offset := 128
	if p.form == Q4 {
		offset = 8
	}
	for g := range p.groups {
		q, scale := quantizeTwin(p.x[token][g*GroupCols : (g+1)*GroupCols])
		sum := int64(0)
		for c, e := range q {
			sum += int64(e) * int64(p.w[row][g*GroupCols+c]-offset)
		}
		if factor := halfTwin(p.ws[row][g]) * scale; l == Portable {
			y += float32(float32(sum) * factor)
		} else {
			y = fma32(float32(sum), factor, y)
		}
	}
	return y
}

// fma32 rounds once: the sum in float64 is rounded to odd, so that rounding it
// again to float32 is exact.
func fma32(a, b, c float32) float32 {
	product := float64(a) * float64(b)
	sum := product + float64(c)
	if math.IsInf(sum, 0) || sum != sum {
		return float32(sum)
	}
	back := sum - product
	left := (product - (sum - back)) + (float64(c) - back)
	if bits := math.Float64bits(sum); left != 0 && bits&1 == 0 {
		if (left > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}

func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// checkIntegers compares all of y, what lies between its rows included.
func checkIntegers(t *testing.T, l Level, p *integers, add bool) {
	t.Helper()
	tokens := len(p.x)
	ldy := PanelRows + 5
	y := make([]float32, tokens*ldy+3)
	for i := range y {
		y[i] = float32(i%7) - 3
	}
	want := slices.Clone(y)
	for token := range tokens {
		for row := range PanelRows {
			from := float32(0)
			if add {
				from = y[token*ldy+row]
			}
			want[token*ldy+row] = p.twin(l, row, token, from)
		}
	}
	IntGemm(l, p.form, p.panel(), p.groups, p.tile(l), tokens, y, ldy, add, Fetch{Ahead: 4096, Every: 1 + tokens%3})
	for i := range y {
		if !same(y[i], want[i]) {
			t.Fatalf("%s %s, %d groups, %d tokens, add %v: y[%d][%d] is %v, want %v",
				l, p.form, p.groups, tokens, add, i/ldy, i%ldy, y[i], want[i])
		}
	}
}

func eachInteger(do func(l Level, f Form, tokens int)) {
	for _, l := range vectorLevels() {
		for _, f := range []Form{Q8, Q4} {
			for tokens := 1; tokens <= l.TileTokens(); tokens++ {
				do(l, f, tokens)
			}
		}
	}
}

func TestIntGemmIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	eachInteger(func(l Level, f Form, tokens int) {
		for _, groups := range []int{0, 1, 2, 3, 29} {
			checkIntegers(t, l, randomIntegers(r, f, groups, tokens), groups%2 == 1)
		}
	})
}

// TestIntGemmExtremes has the largest sums that there are, of each sign.
func TestIntGemmExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	eachInteger(func(l Level, f Form, tokens int) {
		for _, w := range []int{0, 15, 255} {
			p := randomIntegers(r, f, 2, tokens)
			for row := range p.w {
				for c := range p.w[row] {
					p.w[row][c] = w
					if f == Q4 {
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

// TestIntGemmSplitsAndTiles: any split of the groups and any tile gives the
// same bits.
func TestIntGemmSplitsAndTiles(t *testing.T) {
	const groups = 9
	r := rand.New(rand.NewPCG(5, 6))
	eachInteger(func(l Level, f Form, tokens int) {
		p := randomIntegers(r, f, groups, tokens)
		panel, x, size := p.panel(), p.tile(l), f.PanelBytes(GroupCols)
		whole, split := make([]float32, tokens*PanelRows), make([]float32, tokens*PanelRows)
		IntGemm(l, f, panel, groups, x, tokens, whole, PanelRows, false, Fetch{})
		for g := 0; g < groups; {
			n := 1 + r.IntN(groups-g)
			IntGemm(l, f, panel[g*size:], n, x[IntTileBytes(g, tokens):], tokens, split, PanelRows, g > 0, Fetch{})
			g += n
		}
		for token := range tokens {
			alone, row := *p, make([]float32, PanelRows)
			alone.x = p.x[token : token+1]
			IntGemm(l, f, panel, groups, alone.tile(l), 1, row, PanelRows, false, Fetch{})
			for i := range row {
				at := token*PanelRows + i
				if !same(whole[at], split[at]) || !same(whole[at], row[i]) {
					t.Fatalf("%s %s token %d of %d row %d: whole %v, split %v, alone %v", l, f, token, tokens, i, whole[at], split[at], row[i])
				}
			}
		}
	})
}

// TestIntGemmMutants: one wrong nibble, scale or correction shows.
func TestIntGemmMutants(t *testing.T) {
	const groups = 3
	r := rand.New(rand.NewPCG(7, 8))
	eachInteger(func(l Level, f Form, tokens int) {
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
			y := make([]float32, tokens*PanelRows)
			IntGemm(l, f, panel, groups, x, tokens, y, PanelRows, false, Fetch{})
			return y
		}
		want := run()
		mutate := func(b []byte, at int, bit byte, what string) {
			b[at] ^= bit
			if slices.Equal(run(), want) {
				t.Errorf("%s %s %d tokens: %s byte %d changed and nothing came of it", l, f, tokens, what, at)
			}
			b[at] ^= bit
		}
		for range 40 {
			at := r.IntN(len(panel))
			mutate(panel, at, 0x10, "panel")
			mutate(panel, at&^1, 0x04|0x40*byte(r.IntN(2)), "panel")
		}
		act := tokens * intTokenBytes
		for token := range tokens {
			g := r.IntN(groups) * act
			if l != AVX2 || f != Q8 { // which takes off the offset itself
				mutate(x, g+4*(8*tokens+token), 0x10, "correction")
			}
			mutate(x, g+4*(9*tokens+token)+2, 0x10, "scale")
			mutate(x, g+4*(r.IntN(8)*tokens+token)+r.IntN(4), 1, "activation")
		}
	})
}

// TestIntGemmPoison: an infinity or a NaN makes its token's results NaN and no
// other's.
func TestIntGemmPoison(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	eachInteger(func(l Level, f Form, tokens int) {
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

func FuzzIntGemm(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(4), true, false)
	f.Add(uint64(2), uint8(40), uint8(12), false, true)
	f.Fuzz(func(t *testing.T, seed uint64, groups, tokens uint8, q4, add bool) {
		form := Q8
		if q4 {
			form = Q4
		}
		for _, l := range vectorLevels() {
			n := 1 + int(tokens)%l.TileTokens()
			checkIntegers(t, l, randomIntegers(rand.New(rand.NewPCG(seed, 0)), form, int(groups)%48, n), add)
		}
	})
}
