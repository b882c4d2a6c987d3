//go:build cuda

package cuda

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// gemm is a kernel for products on tensor cores.
type gemm struct {
	name    string
	rows    int  // at most, of a step
	below   int  // it is for products with fewer columns; 0: for all
	tile    int  // rows of a block
	columns int  // of a block, or of what blocks that stay deal out
	block   int  // threads
	perSM   int  // blocks that a multiprocessor runs at once
	splits  bool // it can give the segments of K to several blocks
	maps    bool // it gets its matrices as tensor maps
	stays   bool // a block takes one tile after the other
}

// Columns at which another kernel becomes faster, by TestTiles on an H200 (docs/benchmarks/cuda.md);
// for other GPUs they are a guess.
const (
	narrow = 132/2*64 + 1 // below it tiles of 64 columns fill at most half of its 132 multiprocessors
	medium = 8192 + 1
)

// gemms are in the order in which they are tried: of those that the GPU has and that are
// meant for the number of columns, the first one with enough rows is taken. All give the same bits.
var gemms = []gemm{
	{name: "gemm_few8", rows: 8, tile: 8, columns: 8, block: 256, perSM: 1, stays: true},
	{name: "gemm_few16", rows: 16, tile: 16, columns: 8, block: 256, perSM: 1, stays: true},
	{name: "gemm_wgmma64", rows: 64, below: medium, tile: 64, columns: 64, block: 160, perSM: 1, splits: true, maps: true},
	{name: "gemm_wgmma64w", rows: 64, tile: 64, columns: 128, block: 288, perSM: 2, splits: true, maps: true},
	{name: "gemm_wgmma64", rows: 128, below: narrow, tile: 64, columns: 64, block: 160, perSM: 1, splits: true, maps: true},
	{name: "gemm_wgmma128", rows: 256, below: narrow, tile: 128, columns: 64, block: 160, perSM: 1, splits: true, maps: true},
	{name: "gemm_wgmma128", rows: 128, below: medium, tile: 128, columns: 64, block: 160, perSM: 1, splits: true, maps: true},
	{name: "gemm_wgmma128w", rows: 512, below: narrow, tile: 128, columns: 64, block: 160, perSM: 2, splits: true, maps: true},
	{name: "gemm_wgmma128w", rows: 256, below: medium, tile: 128, columns: 64, block: 160, perSM: 2, splits: true, maps: true},
	{name: "gemm_wgmma128w", rows: 128, tile: 128, columns: 64, block: 160, perSM: 2, splits: true, maps: true},
	{name: "gemm_wgmma256", tile: 256, columns: 128, block: 384, perSM: 1, splits: true, maps: true, stays: true},
	{name: "gemm64", rows: 64, tile: 64, columns: 128, block: 256, perSM: 2, splits: true},
	{name: "gemm128", tile: 128, columns: 128, block: 256, perSM: 1, splits: true},
}

// isFor reports whether a kernel is meant for products with this number of columns.
func (g gemm) isFor(columns int) bool { return g.below == 0 || columns < g.below }

// of is how many tiles the columns of some matrices make, in one row of tiles.
func (g gemm) of(columns ...int) (tiles int) {
	for _, n := range columns {
		tiles += ceilDiv(n, g.columns)
	}
	return tiles
}

// Lengths in which sums are made: see kernels/order.cuh.
const (
	productSegment   = 512 // elements of K
	attentionSegment = 512 // positions
)

// mostWork bounds the memory for the sums of segments of products that several blocks make,
// mostAttentionWork for those of attention.
const (
	mostWork          = 64 << 20
	mostAttentionWork = 128 << 20
)

// decodeBlocks is how many blocks of attention a multiprocessor gets before their segments
// are spread no further: some times what it runs at once, which is 1 to 4, so that the last
// ones to end are a small part. Blocks without a segment end at once, but some thousands of
// them take as long as a short step.
const decodeBlocks = 12

// splits decides over how many blocks the segments of a sum are spread, so that steps of
// few rows use all multiprocessors. It depends on nothing but the number of rows.
type splits struct {
	multiprocessors int
	context         int // positions that a row of the page table has
	parts           int // of products; 0: as many as seem best
}

// product is over how many blocks the sums of a product are spread: of rows x k, with matrices
// whose columns make a number of tiles.
func (s splits) product(g gemm, rows, tiles, k int) int {
	segments, slots := ceilDiv(k, productSegment), s.multiprocessors*g.perSM
	if g.maps { // their blocks have enough under way that half as many are no slower than shared sums
		slots /= 2
	}
	if s.parts > 0 {
		return ceilDiv(segments, ceilDiv(segments, s.parts))
	}
	parts := min(segments, slots/(tiles*max(1, ceilDiv(rows, g.tile))))
	if !g.splits || parts <= 1 || productWork(g, rows, tiles, k, parts) > mostWork {
		return 1
	}
	return ceilDiv(segments, ceilDiv(segments, parts)) // without parts that have nothing to do
}

// blocks is how many are started for tiles.
func (s splits) blocks(g gemm, tiles int) int {
	if g.stays {
		return min(tiles, s.multiprocessors*g.perSM)
	}
	return tiles
}

// productWork is the memory for the sums of segments: see kernels/tensor_many.cuh.
func productWork(g gemm, rows, tiles, k, parts int) int64 {
	segments := ceilDiv(k, productSegment)
	slots := segments - ceilDiv(segments, parts) + 1
	return 4 * int64(slots) * int64(tiles*ceilDiv(rows, g.tile)) * int64(g.tile*g.columns)
}

// productNeeds is the memory that products of up to most rows share: see needs.
func (s splits) productNeeds(most, k int, columns ...int) (work int64, counters int) {
	for _, g := range gemms {
		for rows := min(g.tile, most); g.splits; rows = min(rows+g.tile, most) {
			if parts := s.product(g, rows, g.of(columns...), k); parts > 1 {
				work = max(work, productWork(g, rows, g.of(columns...), k, parts))
				counters = max(counters, ceilDiv(rows, g.tile)*g.of(columns...))
			}
			if rows == most {
				break
			}
		}
	}
	return work, counters
}

// productGrid is how a product is started.
func (s splits) productGrid(g gemm, rows, tiles, k int) driver.Dim {
	if !g.splits {
		return driver.Dim{X: s.blocks(g, tiles), Y: min(ceilDiv(rows, g.tile), mostRowBlocks)}
	}
	return driver.Dim{X: s.blocks(g, tiles*ceilDiv(rows, g.tile)), Z: s.product(g, rows, tiles, k)}
}

// decode is for attention of tokens that are alone in their sequences.
func (s splits) decode(rows, heads int, kv gpu.KVSpec) int {
	if 2*s.segmentWork(rows, heads, kv) > mostAttentionWork {
		return 1
	}
	blocks := rows * kv.Heads * ceilDiv(heads/kv.Heads, decodeRows)
	return max(1, min(ceilDiv(s.context, attentionSegment), ceilDiv(decodeBlocks*s.multiprocessors, blocks)))
}

// decodeWork is for as many segments of each row as mostAttentionWork allows. Rows with more
// are not spread.
func (s splits) decodeWork(rows, heads int, kv gpu.KVSpec) int64 {
	segment := s.segmentWork(rows, heads, kv)
	return segment * min(int64(ceilDiv(s.context, attentionSegment)), max(1, mostAttentionWork/segment))
}

// segmentWork is for one segment of each row: sums, then peaks and totals, to 16 bytes.
func (s splits) segmentWork(rows, heads int, kv gpu.KVSpec) int64 {
	queries := int64(rows) * int64(heads)
	return 4*queries*int64(kv.HeadDim) + 16*((queries+1)/2)
}

// needs is the memory that the kernels of a program share: bytes of sums of segments, and
// counters of blocks that have arrived.
func (s splits) needs(p *gpu.Program, stepTokens, tile int) (work int64, counters int) {
	add := func(bytes int64, n int) { work, counters = max(work, bytes), max(counters, n) }
	for i, op := range p.Ops {
		switch op := op.(type) {
		case gpu.Linear:
			most := stepTokens
			if p.Buffers[op.In].PerOutput {
				most = tile
			}
			var columns []int
			for _, l := range productsAt(p.Ops, i) { // all, or the first ones, in one launch
				columns = append(columns, p.Buffers[l.Out].Width)
				add(s.productNeeds(most, p.Buffers[op.In].Width, columns...))
			}
		case gpu.Attention:
			for rows := 1; rows <= stepTokens && s.decode(rows, op.Heads, p.KV) > 1; rows++ {
				add(s.decodeWork(rows, op.Heads, p.KV), rows*p.KV.Heads*ceilDiv(op.Heads/p.KV.Heads, decodeRows))
			}
		}
	}
	return work, counters
}
