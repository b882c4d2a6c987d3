package cpu

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// activations is a buffer as GEMM reads it: as float32 (a single token is its
// row, several are packed in tiles), or quantised, or as both.
type activations struct {
	buffer       gpu.Buffer
	width        int
	floats, ints bool      // what is read
	tiles        []float32 // tile by tile, [width][tokens of the tile]
	quantised    []byte    // tile by tile, as intgemm.QuantizeRow says
	// narrow: intgemm.MultiplyAMX does not support one of the products that read it.
	narrow bool
}

// usesAMX reports whether a GEMM of some rows runs on AMX tiles. Fewer than
// intgemm.AMXMinRows are limited by memory, which the kernels that stream their weights
// use better.
func (a *activations) usesAMX(l simd.Level, rows int) bool {
	return l >= simd.AMX && a.ints && !a.narrow && rows >= intgemm.AMXMinRows
}

// tiling divides the current rows of a buffer.
func (s *step) tiling(a *activations) layout.Tiling {
	rows := s.rows(a.buffer)
	if a.usesAMX(s.level, rows) {
		return layout.NewTiling(rows, intgemm.AMXTokens)
	}
	return layout.NewTiling(rows, layout.TileTokens(s.level))
}

func (a *activations) grow(rows int) {
	if a.floats && rows > 1 {
		a.tiles = grow(a.tiles, rows*a.width)
	}
	if a.ints {
		a.quantised = grow(a.quantised, intgemm.TileBytes(a.width/layout.GroupCols, rows))
	}
}

// pack lays out columns [lo, hi) of tiles [first, end).
func (a *activations) pack(s *step, tiles layout.Tiling, first, end, lo, hi int) {
	x, stride := s.buffers[a.buffer], s.stride(a.buffer)
	for i := first; i < end; i++ {
		t, n := tiles.At(i)
		if a.floats && tiles.Tokens > 1 {
			gemm.PackTile(s.level, a.tiles[t*a.width+lo*n:], x[t*stride+lo:], stride, n, hi-lo)
		}
		if a.ints {
			a.quantise(s.level, tiles, i, lo, x[t*stride+lo:], stride, hi-lo)
		}
	}
}

// quantise packs columns of tile i from column on: the first of x, rows stride apart.
func (a *activations) quantise(l simd.Level, tiles layout.Tiling, i, column int, x []float32, stride, columns int) {
	order := intgemm.Quads
	if a.usesAMX(l, tiles.Tokens) {
		order = intgemm.Rows
	}
	t, n := tiles.At(i)
	tile := a.intTile(t, n, column)
	for r := range n {
		intgemm.QuantizeRow(l, order, x[r*stride:][:columns], tile, r, n)
	}
}

// tile is the activations of a tile of n tokens from t on, from a column on.
func (a *activations) tile(s *step, t, n, column int) []float32 {
	if n == 1 {
		return s.row(a.buffer, t)[column:]
	}
	return a.tiles[t*a.width+column*n : (t+n)*a.width]
}

// intTile is tile, quantised.
func (a *activations) intTile(t, n, column int) []byte {
	from := intgemm.TileBytes(a.width/layout.GroupCols, t) + intgemm.TileBytes(column/layout.GroupCols, n)
	return a.quantised[from:intgemm.TileBytes(a.width/layout.GroupCols, t+n)]
}

// packing is a stage that lays out a buffer for the products after it. A unit
// is some columns of a tile, so that workers do not write the same cache lines.
type packing struct {
	in *activations
	// alone: the previous stage lays out a single row.
	alone bool
}

// packElements is the elements of a unit: about 10 microseconds.
const packElements = 12 << 10

// columns is the number of columns of a unit, a multiple of GroupCols. A single
// tile is divided among all workers.
func (p packing) columns(threads int, tiles layout.Tiling) int {
	_, tokens := tiles.At(0)
	groups := packElements / max(1, tokens) / layout.GroupCols
	if all := p.in.width / layout.GroupCols; tiles.Tiles == 1 {
		groups = min(groups, (all+threads-1)/threads)
	}
	return max(1, groups) * layout.GroupCols
}

func (p packing) units(s *step) int {
	tiles := s.tiling(p.in)
	if tiles.Tokens <= 1 && (p.alone || !p.in.ints) {
		return 0
	}
	columns := p.columns(s.threads, tiles)
	return tiles.Tiles * ((p.in.width + columns - 1) / columns)
}

func (p packing) run(s *step, _ *scratch, unit int) error {
	tiles := s.tiling(p.in)
	columns := p.columns(s.threads, tiles)
	i, lo := unit%tiles.Tiles, unit/tiles.Tiles*columns
	p.in.pack(s, tiles, i, i+1, lo, min(lo+columns, p.in.width))
	return nil
}
