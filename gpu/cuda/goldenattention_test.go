//go:build cuda

package cuda

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// Widths of the attention kernels on tensor cores.
var attentionWidths = []int{64, 128, 256}

// goldenPages is the size of a page of golden pools.
const goldenPages = 16

// attentionRun are the inputs of attention, on the device.
type attentionRun struct {
	b                            *bed
	kv                           gpu.DType
	heads, kvHeads, headDim      int
	tokens                       int
	stride                       int // pages of a row
	step, q                      uint64
	keys, values, kscale, vscale uint64
	out                          *driver.Memory
}

// token is one of a step.
type token struct{ row, position int }

// newAttention draws a pool, in which each row has pages of its own in random order, and
// queries. out has elements of the given size in bytes.
func newAttention(b *bed, kv gpu.DType, heads, kvHeads, headDim, context, rows int, tokens []token, size int64) *attentionRun {
	a := &attentionRun{b: b, kv: kv, heads: heads, kvHeads: kvHeads, headDim: headDim, tokens: len(tokens), stride: ceilDiv(context, goldenPages)}
	pages := rows*a.stride + 1
	vectors := pages * kvHeads * goldenPages
	a.keys, a.values = address(b, b.elements(kv, vectors*headDim, 1)), address(b, b.elements(kv, vectors*headDim, 1))
	if kv == gpu.I8 {
		for _, to := range []*uint64{&a.kscale, &a.vscale} {
			scales := make([]float32, vectors)
			for i := range scales {
				scales[i] = 0.02 * b.random.Float32()
			}
			*to = address(b, scales)
		}
	}
	var table, ids, positions, row []int32
	for _, p := range b.random.Perm(pages - 1) {
		table = append(table, int32(p+1))
	}
	for _, t := range tokens {
		ids, positions, row = append(ids, 0), append(positions, int32(t.position)), append(row, int32(t.row))
	}
	a.step = b.header(stepHeader{tokens: int32(len(tokens)), pageShift: 4, pageStride: int32(a.stride),
		tokenID: address(b, ids), tokenPosition: address(b, positions), tokenRow: address(b, row), pageTable: address(b, table)})
	a.q = address(b, b.floats(len(tokens)*heads*headDim, 1))
	a.out = b.room(a.outBytes(size))
	return a
}

func (a *attentionRun) outBytes(size int64) int64 {
	return size * int64(a.tokens) * int64(a.heads) * int64(a.headDim)
}

// arguments are those of the kernels on tensor cores. kind is the type of the output.
func (a *attentionRun) arguments(kind int) []uint64 {
	return []uint64{a.step, a.q, a.out.Address(), uint64(kind), a.keys, a.values, a.kscale, a.vscale,
		uint64(a.heads), uint64(a.kvHeads), uint64(a.headDim), floatBits(0.125)}
}

// kinds are types of outputs, as the kernels number them.
var kinds = []struct {
	name string
	size int64
}{{"f32", 4}, {"bf16", 2}, {"f16", 2}}

// decodeCases are attention of single tokens, over one block and over several.
func decodeCases() (list []goldenCase) {
	contexts := []int{1, 65, 700}
	for i, kv := range []gpu.DType{gpu.F16, gpu.BF16, gpu.I8} {
		for j, width := range attentionWidths {
			group, headDim, kind := []int{3, 17, 1}[(i+j)%3], width-8*(j%2), (i+j)%3
			kernel := fmt.Sprintf("attention_decode_%s_%d", typeName(kv), width)
			for parts := 1; parts <= 2; parts++ {
				list = append(list, goldenCase{
					name: fmt.Sprintf("decode/%s/head-%d/group-%d/out-%s/splits-%d", typeName(kv), headDim, group, kinds[kind].name, parts), kernels: []string{kernel},
					inputs: fmt.Sprintf("decode/%s/head-%d", typeName(kv), headDim), prefix: true,
					run: func(b *bed) []byte {
						var tokens []token
						for row, n := range contexts {
							tokens = append(tokens, token{row, n - 1})
						}
						a := newAttention(b, kv, 2*group, 2, headDim, 704, len(contexts), tokens, kinds[kind].size)
						s, spec, blocks := splits{context: 704}, gpu.KVSpec{Heads: 2, HeadDim: headDim}, 2*ceilDiv(group, decodeRows)
						work := s.decodeWork(len(tokens), a.heads, spec)
						b.run(kernel, driver.Dim{X: len(tokens), Y: blocks, Z: parts}, 128, dynamicShared(kernel),
							append(a.arguments(kind), b.room(work).Address(), uint64(work/4), b.counters(len(tokens)*blocks))...)
						return b.get(a.out, a.outBytes(kinds[kind].size))
					},
				})
			}
		}
	}
	return list
}

// promptCases are attention of the parts of two prompts: one over the end of a segment, and
// one from its beginning.
func promptCases() (list []goldenCase) {
	var tokens []token
	for i := range 37 {
		tokens = append(tokens, token{0, 490 + i})
	}
	for i := range 5 {
		tokens = append(tokens, token{1, i})
	}
	for i, kv := range []gpu.DType{gpu.F16, gpu.BF16, gpu.I8} {
		for j, width := range attentionWidths {
			group, headDim, kind := []int{1, 3, 4}[(i+j)%3], width-8*((j+1)%2), (i+j+1)%3
			kernel := fmt.Sprintf("attention_prompt_%s_%d", typeName(kv), width)
			list = append(list, goldenCase{
				name: fmt.Sprintf("prompt/%s/head-%d/group-%d/out-%s", typeName(kv), headDim, group, kinds[kind].name), kernels: []string{kernel},
				run: func(b *bed) []byte {
					a := newAttention(b, kv, group, 1, headDim, 544, 2, tokens, kinds[kind].size)
					b.run(kernel, driver.Dim{X: ceilDiv(len(tokens), promptRows(width)/group), Y: 1}, promptBlock, dynamicShared(kernel), a.arguments(kind)...)
					return b.get(a.out, a.outBytes(kinds[kind].size))
				},
			})
		}
	}
	return list
}

// attentionCases are attention of the plain family.
func attentionCases() (list []goldenCase) {
	tokens := []token{{0, 600}, {1, 3}, {1, 4}, {2, 0}}
	for _, kv := range gpu.KVDTypes() {
		for _, headDim := range []int{18, 100} {
			kernel := "attention_" + typeName(kv)
			list = append(list, goldenCase{
				name: fmt.Sprintf("attention/%s/head-%d", typeName(kv), headDim), kernels: []string{kernel},
				run: func(b *bed) []byte {
					a := newAttention(b, kv, 6, 2, headDim, 608, 3, tokens, 4)
					arguments := append(a.arguments(0)[:3:3], a.arguments(0)[4:]...)
					b.run(kernel, driver.Dim{X: len(tokens), Y: 6}, 128, 0, arguments...)
					return b.get(a.out, a.outBytes(4))
				},
			})
		}
	}
	return list
}
