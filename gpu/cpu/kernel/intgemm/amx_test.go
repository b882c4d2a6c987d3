package intgemm

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

func needTiles(t testing.TB) {
	if !simd.AMX.Supported() {
		t.Skip("this processor has no AMX, or the system does not allow it")
	}
}

// tileProblem is a product of several tiles.
type tileProblem struct {
	*integers
	tokens, tiles int
}

func randomTiles(r *rand.Rand, f layout.Form, groups, tokens, tiles int) tileProblem {
	return tileProblem{randomIntegers(r, f, groups, tokens*tiles), tokens, tiles}
}

func (p tileProblem) operands() (w, x []byte) {
	w, x = make([]byte, UnpackedBytes(p.groups)), make([]byte, TileBytes(p.groups, len(p.x)))
	UnpackAMX(p.form, p.panel(), p.groups, w)
	for i, row := range p.x {
		tile := x[TileBytes(p.groups, i/p.tokens*p.tokens):]
		QuantizeRow(simd.AMX, Rows, row, tile[:TileBytes(p.groups, p.tokens)], i%p.tokens, p.tokens)
	}
	return w, x
}

// check compares all of y, including the elements between rows.
func (p tileProblem) check(t *testing.T, add bool) {
	t.Helper()
	ldy := layout.PanelRows + 5
	y := make([]float32, len(p.x)*ldy+3)
	for i := range y {
		y[i] = float32(i%7) - 3
	}
	want := slices.Clone(y)
	for token := range p.x {
		for row := range layout.PanelRows {
			from := float32(0)
			if add {
				from = y[token*ldy+row]
			}
			want[token*ldy+row] = p.twin(simd.AMX, row, token, from)
		}
	}
	w, x := p.operands()
	MultiplyAMX(w, p.groups, x, p.tokens, p.tiles, TileBytes(p.groups, p.tokens), y, ldy, add, w[:len(w)/(1+p.tiles%3)])
	for i := range y {
		if !kerneltest.Same(y[i], want[i]) {
			t.Fatalf("%s, %d groups, %d tiles of %d tokens, add %v: y[%d][%d] is %v, want %v",
				p.form, p.groups, p.tiles, p.tokens, add, i/ldy, i%ldy, y[i], want[i])
		}
	}
}

func TestTileGemmIsExact(t *testing.T) {
	needTiles(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range []layout.Form{layout.Q8, layout.Q4} {
		for tokens := AMXMinTokens; tokens <= AMXTokens; tokens++ {
			for _, groups := range []int{0, 1, 2, 3, 4, 29} {
				randomTiles(r, f, groups, tokens, 1+r.IntN(3)).check(t, groups%2 == 1)
			}
		}
	}
}

// TestTileGemmExtremes has the largest possible sums of each sign: the conversion to
// float32 must support them.
func TestTileGemmExtremes(t *testing.T) {
	needTiles(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range []layout.Form{layout.Q8, layout.Q4} {
		for _, w := range []int{0, 15, 255} {
			p := randomTiles(r, f, 2, AMXMinTokens, 2)
			for row := range p.w {
				for c := range p.w[row] {
					if p.w[row][c] = w; f == layout.Q4 {
						p.w[row][c] = min(w, 15)
					}
				}
			}
			for token := range p.x {
				for c := range p.x[token] {
					p.x[token][c] = float32(1 - 2*(token&1))
				}
			}
			p.check(t, false)
		}
	}
}

// TestTileGemmEqualsIntGemm: split columns, and single tokens with products of AVX-512,
// have the same bits.
func TestTileGemmEqualsMultiply(t *testing.T) {
	needTiles(t)
	const groups, tokens, tiles = 9, 14, 3
	r := rand.New(rand.NewPCG(5, 6))
	for _, f := range []layout.Form{layout.Q8, layout.Q4} {
		p := randomTiles(r, f, groups, tokens, tiles)
		panel := p.panel()
		w, x := p.operands()
		split, apart := make([]float32, len(p.x)*layout.PanelRows), TileBytes(groups, tokens)
		for g := 0; g < groups; {
			n := 1 + r.IntN(groups-g)
			MultiplyAMX(w[UnpackedBytes(g):], n, x[TileBytes(g, tokens):], tokens, tiles, apart, split, layout.PanelRows, g > 0, nil)
			g += n
		}
		for token := range p.x {
			alone, row := *p.integers, make([]float32, layout.PanelRows)
			alone.x = p.x[token : token+1]
			Multiply(simd.AVX512, f, panel, groups, alone.tile(simd.AVX512), 1, row, layout.PanelRows, false, Fetch{})
			if !slices.EqualFunc(row, split[token*layout.PanelRows:][:layout.PanelRows], kerneltest.Same) {
				t.Fatalf("%s token %d: tiles %v, alone %v", f, token, split[token*layout.PanelRows:][:layout.PanelRows], row)
			}
		}
	}
}

// TestTileGemmPoison: an infinity or a NaN makes only its token's results NaN.
func TestTileGemmPoison(t *testing.T) {
	needTiles(t)
	r := rand.New(rand.NewPCG(11, 12))
	for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		p := randomTiles(r, layout.Q8, 3, 15, 2)
		victim := r.IntN(len(p.x))
		p.x[victim][r.IntN(96)] = float32(bad)
		p.check(t, true)
		if v := p.twin(simd.AMX, 0, victim, 0); v == v {
			t.Fatalf("%v becomes %v", bad, v)
		}
	}
}

// TestTileGemmMutants: one wrong weight, scale or activation is noticed.
func TestTileGemmMutants(t *testing.T) {
	needTiles(t)
	const groups = 3
	r := rand.New(rand.NewPCG(7, 8))
	for tokens := AMXMinTokens; tokens <= AMXTokens; tokens++ {
		p := randomTiles(r, layout.Q8, groups, tokens, 2)
		for token := range p.x {
			for c := range p.x[token] {
				p.x[token][c] = float32(1 + (c+token)%5)
			}
		}
		for row := range p.ws {
			p.ws[row] = []uint16{0x3c00, 0x3c00, 0x3c00} // 1
		}
		w, x := p.operands()
		run := func() []float32 {
			y := make([]float32, len(p.x)*layout.PanelRows)
			MultiplyAMX(w, groups, x, tokens, 2, TileBytes(groups, tokens), y, layout.PanelRows, false, nil)
			return y
		}
		want := run()
		mutate := func(b []byte, at int, what string) {
			b[at] ^= 0x10
			if slices.Equal(run(), want) {
				t.Errorf("%d tokens: %s a change of byte %d is not noticed", tokens, what, at)
			}
			b[at] ^= 0x10
		}
		for range 20 {
			g := r.IntN(groups) * tileGroup
			mutate(w, g+r.IntN(8*layout.PanelRows*4), "weight")
			mutate(w, g+8*layout.PanelRows*4+4*r.IntN(layout.PanelRows)+2, "scale of a weight")
			g = r.IntN(2*groups) * tokens * tokenBytes
			mutate(x, g+r.IntN(layout.GroupCols*tokens), "activation")
			mutate(x, g+layout.GroupCols*tokens+4*tokens+4*r.IntN(tokens)+2, "scale of an activation")
		}
	}
}

// TestTileGemmKeepsNoPointerPastMemory: the collector ends a process that holds a pointer
// to memory without objects. In some of these cases the prefetched memory ends there,
// while the collector scans stacks all the time.
func TestTileGemmKeepsNoPointerPastMemory(t *testing.T) {
	needTiles(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	w, x, y := make([]byte, UnpackedBytes(1)), make([]byte, TileBytes(1, AMXMinTokens)), make([]float32, AMXMinTokens*layout.PanelRows)
	next := make([][]byte, 70)
	for i := range next {
		next[i] = make([]byte, 3456) // seven to 24 KiB, and a rest
	}
	for i := range 1_000_000 {
		MultiplyAMX(w, 1, x, AMXMinTokens, 1, 0, y, layout.PanelRows, false, next[i%len(next)])
	}
	close(stop)
	<-stopped
}

func FuzzTileGemm(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(4), uint8(1), true, false)
	f.Add(uint64(2), uint8(40), uint8(15), uint8(3), false, true)
	f.Fuzz(func(t *testing.T, seed uint64, groups, tokens, tiles uint8, q4, add bool) {
		needTiles(t)
		form := layout.Q8
		if q4 {
			form = layout.Q4
		}
		randomTiles(rand.New(rand.NewPCG(seed, 0)), form, int(groups)%48, AMXMinTokens+int(tokens)%(AMXTokens-AMXMinTokens+1), 1+int(tiles)%4).check(t, add)
	})
}

// TestTilingsSuitAMX: from AMXMinRows rows on no tile is smaller than AMXMinTokens.
func TestTilingsSuitAMX(t *testing.T) {
	for rows := AMXMinRows; rows < 5000; rows++ {
		tiles := layout.NewTiling(rows, AMXTokens)
		for i := range tiles.Tiles {
			if _, n := tiles.At(i); n < AMXMinTokens || n > AMXTokens {
				t.Fatalf("%d rows have a tile of %d tokens", rows, n)
			}
		}
	}
}
