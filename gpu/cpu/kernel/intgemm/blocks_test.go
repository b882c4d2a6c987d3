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

// blockProblem is a problem for Multiply.
type blockProblem struct {
	form   layout.Form
	groups int
	w      [layout.PanelRows][]*kerneltest.Block
	x      [][]float32
}

func randomBlocks(r *rand.Rand, f layout.Form, groups, tokens int) *blockProblem {
	p := &blockProblem{form: f, groups: groups}
	for row := range p.w {
		for range groups * layout.GroupCols / f.Unit() {
			p.w[row] = append(p.w[row], kerneltest.RandomBlock(r, f, 0, 30))
		}
	}
	p.x = randomIntegers(r, layout.Q8, groups, tokens).x
	return p
}

func (p *blockProblem) panel() []byte {
	rows := make([][]byte, layout.PanelRows)
	for i := range rows {
		for _, b := range p.w[i] {
			rows[i] = append(rows[i], b.Encoded...)
		}
	}
	panel := make([]byte, p.form.PanelBytes(p.groups*layout.GroupCols))
	layout.Pack(p.form, panel, p.groups*layout.GroupCols, rows)
	return panel
}

func (p *blockProblem) tile(l simd.Level) []byte {
	return (&integers{groups: p.groups, x: p.x}).tile(l)
}

// twin is the sum that row and token must have, to the bit; it starts from y.
func (p *blockProblem) twin(l simd.Level, row, token int, y float32) float32 {
	fma := kerneltest.FMA32
	if l == simd.Portable {
		fma = func(a, b, c float32) float32 { return float32(a*b) + c }
	}
	unit := p.form.Unit()
	for g := range p.groups {
		from := g * layout.GroupCols
		b, at := p.w[row][from/unit], from%unit
		q, x := quantizeTwin(p.x[token][from : from+layout.GroupCols])
		sum, all := 0, 0
		for c, e := range q {
			scale := 1
			if p.form == layout.Q6K {
				scale = int(int8(b.Encoded[192+(at+c)/16]))
			}
			sum += scale * b.Value[at+c] * int(e)
			all += int(e)
		}
		if p.form == layout.Q6K {
			d := kerneltest.HalfTwin(binary.LittleEndian.Uint16(b.Encoded[208:]))
			y = fma(float32(sum), d*x, y)
			continue
		}
		product := fma(float32(sum), float32(b.Scale[at]), float32(all)*float32(b.Offset[at]))
		y = fma(product, x, y)
	}
	return y
}

// check compares all of y, including the elements between rows.
func (p *blockProblem) check(t *testing.T, l simd.Level, add bool) {
	t.Helper()
	tokens, ldy := len(p.x), layout.PanelRows+5
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

func eachBlockForm(do func(l simd.Level, f layout.Form, unit, tokens int)) {
	for _, l := range kerneltest.VectorLevels() {
		for _, f := range []layout.Form{layout.Q41, layout.Q4K, layout.Q6K} {
			for tokens := 1; tokens <= layout.TileTokens(l); tokens++ {
				do(l, f, f.Unit()/layout.GroupCols, tokens)
			}
		}
	}
}

func TestBlocksAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	eachBlockForm(func(l simd.Level, f layout.Form, unit, tokens int) {
		for units, add := range []bool{false, true, false, true} {
			randomBlocks(r, f, units*unit, tokens).check(t, l, add)
		}
	})
}

// TestBlocksExtremes has the largest possible sums of each sign.
func TestBlocksExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	eachBlockForm(func(l simd.Level, f layout.Form, unit, tokens int) {
		for _, bits := range []byte{0, 0xff} {
			p := randomBlocks(r, f, unit, tokens)
			for row := range p.w {
				b := p.w[row][0]
				codes := b.Encoded[len(b.Encoded)-f.Unit()/2:]
				if f == layout.Q6K {
					codes = b.Encoded[:192]
					for i := 192; i < 208; i++ {
						b.Encoded[i] = 0x80
					}
				}
				for i := range codes {
					codes[i] = bits
				}
				for c := range b.Value {
					b.Value[c] = int(bits & 15)
					if f == layout.Q6K {
						b.Value[c] = int(bits&63) - 32
					}
				}
			}
			for token := range p.x {
				for c := range p.x[token] {
					p.x[token][c] = float32(1 - 2*(token&1))
				}
			}
			p.check(t, l, false)
		}
	})
}

// TestBlocksSplitsAndTiles: any split at whole units and any tile has the same bits.
func TestBlocksSplitsAndTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	eachBlockForm(func(l simd.Level, f layout.Form, unit, tokens int) {
		groups := 5 * unit
		p := randomBlocks(r, f, groups, tokens)
		panel, x := p.panel(), p.tile(l)
		whole, split := make([]float32, tokens*layout.PanelRows), make([]float32, tokens*layout.PanelRows)
		Multiply(l, f, panel, groups, x, tokens, whole, layout.PanelRows, false, Fetch{})
		for g := 0; g < groups; {
			n := unit * (1 + r.IntN((groups-g)/unit))
			Multiply(l, f, panel[f.PanelBytes(g*layout.GroupCols):], n, x[TileBytes(g, tokens):], tokens, split, layout.PanelRows, g > 0, Fetch{})
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

// TestBlocksMutants: one wrong bit of a panel or a tile is noticed.
func TestBlocksMutants(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	eachBlockForm(func(l simd.Level, f layout.Form, unit, tokens int) {
		groups := 2 * unit
		p := &blockProblem{form: f, groups: groups, x: make([][]float32, tokens)}
		for row := range p.w {
			for range 2 {
				b := kerneltest.RandomBlock(r, f, 15, 15)
				for i := 192; f == layout.Q6K && i < 208; i++ {
					b.Encoded[i] |= 1
				}
				for i := 4; f == layout.Q4K && i < 16; i++ {
					b.Encoded[i] |= 0x21
				}
				p.w[row] = append(p.w[row], b)
			}
		}
		for token := range p.x {
			for c := range groups * layout.GroupCols {
				p.x[token] = append(p.x[token], float32(1+(c+token)%5))
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
		for range 60 {
			at := r.IntN(len(panel))
			mutate(panel, at, 0x20, "panel")
			mutate(panel, at, 0x10, "panel")
		}
		act := tokens * tokenBytes
		for token := range tokens {
			g := r.IntN(groups) * act
			if f != layout.Q6K || l >= simd.AVX512 { // else what weights have too much is taken off before
				mutate(x, g+4*(8*tokens+token)+1, 0x10, "correction")
			}
			mutate(x, g+4*(9*tokens+token)+2, 0x10, "scale")
			mutate(x, g+4*(r.IntN(8)*tokens+token)+r.IntN(4), 1, "activation")
		}
	})
}

// TestBlocksPoison: an infinity or a NaN makes only its token's results NaN.
func TestBlocksPoison(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	eachBlockForm(func(l simd.Level, f layout.Form, unit, tokens int) {
		for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			p, victim := randomBlocks(r, f, unit, tokens), r.IntN(tokens)
			p.x[victim][r.IntN(32*unit)] = float32(bad)
			p.check(t, l, true)
			if v := p.twin(l, 0, victim, 0); v == v {
				t.Fatalf("%v becomes %v", bad, v)
			}
		}
	})
}

// TestRowsOfBlocks: packed rows are read back as their numbers, rounded once.
func TestRowsOfBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, f := range []layout.Form{layout.Q41, layout.Q4K, layout.Q6K} {
		cols := 3 * f.Unit()
		for _, rows := range []int{1, 17, 32} {
			var blocks [layout.PanelRows][]*kerneltest.Block
			encoded := make([][]byte, rows)
			for i := range encoded {
				for range 3 {
					b := kerneltest.RandomBlock(r, f, 0, 30)
					blocks[i], encoded[i] = append(blocks[i], b), append(encoded[i], b.Encoded...)
				}
			}
			panel, out := make([]byte, f.PanelBytes(cols)), make([]float32, cols)
			layout.Pack(f, panel, cols, encoded)
			for i := range rows {
				layout.Row(f, panel, cols, i, out)
				for c, x := range out {
					if want := float32(blocks[i][c/f.Unit()].Weight(c % f.Unit())); x != want {
						t.Fatalf("%s, row %d of %d, column %d: %v, want %v", f, i, rows, c, x, want)
					}
				}
			}
		}
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(4), uint8(0), false)
	f.Add(uint64(2), uint8(40), uint8(12), uint8(1), true)
	f.Add(uint64(3), uint8(2), uint8(7), uint8(2), true)
	f.Fuzz(func(t *testing.T, seed uint64, units, tokens, form uint8, add bool) {
		which := []layout.Form{layout.Q41, layout.Q4K, layout.Q6K}[form%3]
		for _, l := range kerneltest.VectorLevels() {
			n := 1 + int(tokens)%layout.TileTokens(l)
			randomBlocks(rand.New(rand.NewPCG(seed, 0)), which, int(units)%6*which.Unit()/layout.GroupCols, n).check(t, l, add)
		}
	})
}
