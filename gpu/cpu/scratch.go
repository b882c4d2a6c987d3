package cpu

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/attn"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
)

// scratch is the memory of one worker besides the buffers.
type scratch struct {
	rows []float32 // a widened row of a matrix

	at int // index of the stage of the worker's last unit
	// fetched is how many bytes of fetchedOf the worker has prefetched.
	fetched   int
	fetchedOf *lookahead

	// Of attention: see attending.
	kv                     kvReader
	gathered               []byte    // a block of keys, then of values, of small pages
	floats                 []float32 // the same as float32
	keyScales, valueScales [attn.BlockSlots]float32
	scores                 []float32 // [queries][BlockSlots]
	seen                   []int32   // positions of the block, by query
	seenFrom               int
	shrinks                []float32
	sums, merged           sums
	unpacked               []byte    // for AMX: amxGroups of a panel
	amxSums                []float32 // [panels][tokens][32]
	dequantised            []byte    // columns of a panel as float32
	// Of stores into the KV pool: one row rounded.
	halves []uint16
	codes  []int8

	candidates candidates
}

func newScratch(p *gpu.Program, c *compiled) *scratch {
	widest := 0
	for _, b := range p.Buffers {
		widest = max(widest, b.Width)
	}
	queries, block := c.queryTile*c.queryGroup, 2*attn.BlockSlots*p.KV.HeadDim
	together := max(c.queryTile, c.queryGroup) // rows of one call of the kernels
	width := attn.AccWidth(p.KV.HeadDim)
	w := &scratch{
		dequantised: make([]byte, blockBytes),
		rows:        make([]float32, widest),
		gathered:    make([]byte, 4*block+overread),
		floats:      make([]float32, block+overread/4),
		scores:      make([]float32, together*attn.BlockSlots),
		seen:        make([]int32, together),
		shrinks:     make([]float32, together),
		sums:        newSums(queries, width),
		merged:      newSums(queries, width),
		halves:      make([]uint16, p.KV.HeadDim),
		codes:       make([]int8, p.KV.HeadDim),
	}
	if c.amx {
		w.unpacked = make([]byte, intgemm.UnpackedBytes(amxGroups))
		w.amxSums = make([]float32, amxPanels*amxTokens*layout.PanelRows)
	}
	return w
}

func (w *scratch) bytes() int64 {
	n := size(w.rows, w.floats, w.scores, w.shrinks, w.amxSums) + size(w.seen)
	for _, s := range []sums{w.sums, w.merged} {
		n += size(s.acc, s.peaks, s.totals)
	}
	return n + size(w.gathered, w.dequantised, w.unpacked) + size(w.halves) + size(w.codes) + w.candidates.bytes()
}
