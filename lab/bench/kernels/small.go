package kernels

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/attn"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/convert"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/gemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/intgemm"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/rowops"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/scan"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// vocab is the row of logits of a model of 1.5 billion parameters.
const vocab = 151936

// small are kernels on rows of activations in caches: shares of a limit mean nothing.
func small(l simd.Level) []Case {
	hidden, inner, logits := normal(Cols), normal(Rows), normal(vocab)
	gain, up, out := normal(Cols), normal(Rows), make([]float32, Rows)
	first, second, cos, sin := normal(headDim/2), normal(headDim/2), normal(headDim/2), normal(headDim/2)
	for i := range cos {
		cos[i], sin[i] = 0.6, 0.8 // a turn, so that repeating it keeps the length
	}
	quantised := make([]byte, intgemm.TileBytes(Rows/layout.GroupCols, 1))
	tile, wide := make([]float32, queryTokens*Cols), normal(queryTokens*Cols)
	halves, ids := make([]uint16, Rows), make([]int32, vocab)
	highest, _ := scan.Max(simd.Portable, logits)
	scores, seen := make([]float32, headGroup*attn.BlockSlots), make([]int32, headGroup)
	state := attn.Weights{Max: make([]float32, headGroup), Sums: make([]float32, headGroup), Rescale: make([]float32, headGroup)}
	for i := range seen {
		seen[i] = attn.BlockSlots
	}

	var cases []Case
	add := func(name, shape string, bytes int, do func()) {
		cases = append(cases, Case{Level: l, Kernel: name, Shape: shape, Bytes: float64(bytes), Do: do})
	}
	add("rmsnorm", fmt.Sprint(Cols), 12*Cols, func() { rowops.RMSNorm(l, hidden, gain, out[:Cols], 1e-6) })
	add("rotate", fmt.Sprintf("%d of %d", 2*headGroup, headDim), 2*headGroup*12*headDim, func() {
		for range 2 * headGroup {
			rowops.Rotate(l, first, second, cos, sin)
		}
	})
	add("silu·mul", fmt.Sprint(Rows), 12*Rows, func() { rowops.SiluMul(l, inner, up, out) })
	add("quantise", fmt.Sprint(Rows), 4*Rows+len(quantised), func() { intgemm.QuantizeRow(l, intgemm.Quads, inner, quantised, 0, 1) })
	add("pack tile", fmt.Sprintf("%d of %d", queryTokens, Cols), 8*len(tile), func() { gemm.PackTile(l, tile, wide, Cols, queryTokens, Cols) })
	add("narrow", fmt.Sprintf("%d to bf16", Rows), 6*Rows, func() { convert.Narrow(l, layout.BF16, halves, inner) })
	add("softmax", fmt.Sprintf("%d of %d", headGroup, attn.BlockSlots), 8*len(scores), func() {
		clear(state.Sums)
		for i := range state.Max {
			state.Max[i] = attn.NoScore
		}
		attn.Softmax(l, scores, seen, 1, nil, nil, state)
		clear(scores) // they are weights now
	})
	add("peak", fmt.Sprint(vocab), 4*vocab, func() { scan.Max(l, logits) })
	add("exp sum", fmt.Sprint(vocab), 4*vocab, func() { scan.SumExp(l, logits, float64(highest), 1) })
	add("collect", fmt.Sprint(vocab), 4*vocab, func() { scan.AtLeast(l, logits, highest-1, ids) })
	return cases
}
