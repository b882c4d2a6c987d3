package cpu

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel"
)

// activations is a buffer as products read it: one token alone is its row,
// several lie in tiles.
type activations struct {
	buffer gpu.Buffer
	width  int
	tiles  []float32 // tile by tile, [width][tokens of the tile]
}

// tiling is the tiles of the rows that a buffer has now.
func (s *step) tiling(b gpu.Buffer) kernel.Tiling {
	return kernel.NewTiling(s.rows(b), s.level.TileTokens())
}

// grow makes room for so many rows.
func (a *activations) grow(rows int) {
	if rows > 1 {
		a.tiles = grow(a.tiles, rows*a.width)
	}
}

func (a *activations) bytes() int64 { return 4 * int64(cap(a.tiles)) }

// pack lays out columns [lo, hi) of some tiles, [first, end). Of one token
// there is nothing to do.
func (a *activations) pack(s *step, tiles kernel.Tiling, first, end, lo, hi int) {
	if tiles.Tokens == 1 {
		return
	}
	x, stride := s.buffers[a.buffer], s.stride(a.buffer)
	for i := first; i < end; i++ {
		t, n := tiles.At(i)
		kernel.PackTile(a.tiles[t*a.width+lo*n:], x[t*stride+lo:], stride, n, hi-lo)
	}
}

// tile is the activations of a tile of n tokens from t on, from a column on.
func (a *activations) tile(s *step, t, n, column int) []float32 {
	if n == 1 {
		return s.row(a.buffer, t)[column:]
	}
	return a.tiles[t*a.width+column*n : (t+n)*a.width]
}

// packing is a stage that lays out a buffer for the products after it. A unit
// is some columns of a tile, so that workers write lines of memory of their
// own.
type packing struct{ in *activations }

// packColumns is the columns of a unit: about 10 microseconds for a tile of 12.
const packColumns = 1024

func (p packing) units(s *step) int {
	tiles := s.tiling(p.in.buffer)
	if tiles.Tokens <= 1 {
		return 0
	}
	return tiles.Tiles * ((p.in.width + packColumns - 1) / packColumns)
}

func (p packing) run(s *step, _ *scratch, unit int) error {
	tiles := s.tiling(p.in.buffer)
	i, lo := unit%tiles.Tiles, unit/tiles.Tiles*packColumns
	p.in.pack(s, tiles, i, i+1, lo, min(lo+packColumns, p.in.width))
	return nil
}
