//go:build cuda

package cuda

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// Widths of Llama 3.1 8B.
const (
	largeHidden = 4096
	largeMLP    = 14336
	largeVocab  = 128256
	largeHeads  = 32
	largeKV     = 8
	largeHead   = 128
)

// products measures the products of a layer, and the last one, with the kernels that
// a step of each size starts.
func (m *meter) products() {
	for _, s := range []struct {
		what    string
		k       int
		columns []int
	}{
		{"o", largeHidden, []int{largeHidden}}, {"k", largeHidden, []int{largeKV * largeHead}},
		{"q, k, v", largeHidden, []int{largeHidden, largeKV * largeHead, largeKV * largeHead}},
		{"up", largeHidden, []int{largeMLP}}, {"gate, up", largeHidden, []int{largeMLP, largeMLP}},
		{"down", largeMLP, []int{largeHidden}}, {"logits", largeHidden, []int{largeVocab}},
	} {
		k, n := m.by(s.k), 0
		var columns []int
		for _, c := range s.columns {
			columns = append(columns, m.by(c))
			n += m.by(c)
		}
		for _, rows := range []int{1, 8, 16, 32, 64, 128, 256, 512, 4096} {
			if s.what == "logits" && rows > 256 {
				continue
			}
			rows = max(1, rows/m.scale)
			g := gemms[slices.IndexFunc(gemms, func(g gemm) bool {
				return (g.rows == 0 || rows <= g.rows) && g.isFor(n) && m.kernels.fits(g.name+"_bf16")
			})]
			took := m.each(m.product(g, rows, k, m.rotating(2*int64(n)*int64(k)), columns...))
			parts := m.splits.product(g, rows, g.of(columns...), k)
			bytes := 2*float64(n)*float64(k) + 2*float64(rows)*float64(k) + 4*float64(rows)*float64(n)
			m.row(g.name+"_bf16", fmt.Sprintf("%s: %d rows, %d x %d, %d splits", s.what, rows, n, k, parts), took, bytes, 2*float64(rows)*float64(n)*float64(k))
			m.release()
		}
	}
}

// attention measures one layer: decoding at 2k, and a prompt of 8k.
func (m *meter) attention() {
	context, spec := m.by(2048), gpu.KVSpec{Heads: largeKV, HeadDim: largeHead}
	m.splits.context = context
	for _, kv := range []gpu.DType{gpu.BF16, gpu.I8} {
		for _, rows := range []int{1, 64, 256} {
			rows = max(1, rows/m.scale)
			var tokens []token
			for row := range rows {
				tokens = append(tokens, token{row, context - 1})
			}
			a := m.large(kv, rows, context, tokens)
			kernel := "attention_decode_" + typeName(kv) + "_128"
			blocks, parts := largeKV*ceilDiv(largeHeads/largeKV, decodeRows), m.splits.decode(rows, largeHeads, spec)
			work := m.take(m.splits.decodeWork(rows, largeHeads, spec))
			arguments := append(a.arguments(1), work.Address(), uint64(work.Size()/4), m.counters(rows*blocks))
			took := m.each(func(int) {
				m.start(kernel, driver.Dim{X: rows, Y: blocks, Z: parts}, 128, dynamicShared(kernel), arguments...)
			})
			vectors := 2 * float64(rows) * float64(context) * largeKV
			m.row(kernel, fmt.Sprintf("%d rows at %d, %d splits", rows, context, parts), took, vectors*float64(kv.VectorBytes(largeHead)), 2*vectors*largeHead*(largeHeads/largeKV))
			m.release()
		}
		n := m.by(8192)
		var tokens []token
		for i := range n {
			tokens = append(tokens, token{0, i})
		}
		a := m.large(kv, 1, n, tokens)
		kernel := "attention_prompt_" + typeName(kv) + "_128"
		took := m.each(func(int) {
			m.start(kernel, driver.Dim{X: ceilDiv(n, promptRows(largeHead)/(largeHeads/largeKV)), Y: largeKV}, promptBlock, dynamicShared(kernel), a.arguments(1)...)
		})
		m.row(kernel, fmt.Sprintf("a prompt of %d", n), took, float64(n)*2*largeKV*float64(kv.VectorBytes(largeHead)), 2*largeHeads*largeHead*float64(n)*float64(n))
		m.release()
	}
}

// large are the inputs of attention with heads as those of 8B.
func (m *meter) large(kv gpu.DType, rows, context int, tokens []token) *attentionRun {
	stride := ceilDiv(context, goldenPages)
	a := &attentionRun{b: m.bed, kv: kv, heads: largeHeads, kvHeads: largeKV, headDim: largeHead, tokens: len(tokens), stride: stride}
	vectors := int64(rows*stride+1) * largeKV * goldenPages
	pool := func() uint64 { return m.blank(vectors * int64(kv.Bytes(largeHead))).Address() }
	a.keys, a.values = pool(), pool()
	if kv == gpu.I8 {
		a.kscale, a.vscale = m.blank(4*vectors).Address(), m.blank(4*vectors).Address()
	}
	var table, ids, positions, row []int32
	for i := range rows * stride {
		table = append(table, int32(i+1))
	}
	for _, t := range tokens {
		ids, positions, row = append(ids, 0), append(positions, int32(t.position)), append(row, int32(t.row))
	}
	a.step = m.header(stepHeader{tokens: int32(len(tokens)), pageShift: 4, pageStride: int32(stride),
		tokenID: address(m.bed, ids), tokenPosition: address(m.bed, positions), tokenRow: address(m.bed, row), pageTable: address(m.bed, table)})
	a.q, a.out = m.blank(a.outBytes(4)).Address(), m.take(a.outBytes(2))
	return a
}

// rows measures what is between products, for rows of a decode step and of a chunk.
func (m *meter) rows() {
	for _, rows := range []int{1, 256, 4096} {
		rows = max(1, rows/m.scale)
		count := address(m.bed, []int32{int32(rows)})
		floats := func(width int) *driver.Memory { return m.blank(4 * int64(rows) * int64(width)) }
		each := func(kernel string, width, block, parts int, bytes float64, arguments ...uint64) {
			took := m.each(func(int) { m.start(kernel, driver.Dim{X: rows, Y: parts}, block, 0, arguments...) })
			m.row(kernel, fmt.Sprintf("%d rows of %d", rows, width), took, bytes*float64(rows)*float64(width), 0)
		}
		hidden, mlp := m.by(largeHidden), m.by(largeMLP)
		m.ropeAndStore(rows)
		x, gate, up, out := floats(hidden), floats(mlp), floats(mlp), floats(mlp)
		each("rmsnorm_round_bf16", hidden, normBlock(hidden), 1, 6, count, x.Address(), m.blank(4*int64(hidden)).Address(), out.Address(), uint64(hidden), uint64(hidden), floatBits(1e-5))
		each("round_bf16", hidden, along, ceilDiv(hidden, perRow), 6, count, x.Address(), out.Address(), uint64(hidden), uint64(hidden))
		each("silu_mul_round_bf16", mlp, along, ceilDiv(mlp, perRow), 10, count, gate.Address(), up.Address(), out.Address(), uint64(mlp), uint64(mlp))
		m.release()
	}
}

// ropeAndStore measures the rotation and the store of K and V, of tokens of one sequence.
func (m *meter) ropeAndStore(rows int) {
	var tokens []token
	for i := range rows {
		tokens = append(tokens, token{0, i})
	}
	a := m.large(gpu.BF16, 1, ceilDiv(rows, goldenPages)*goldenPages, tokens)
	k, v := m.blank(4*int64(rows)*largeKV*largeHead), m.blank(4*int64(rows)*largeKV*largeHead)
	angles := m.blank(4 * int64(rows) * largeHead)
	took := m.each(func(int) {
		m.start("rope_store_kv_bf16", driver.Dim{X: rows, Y: ceilDiv(32*(largeHeads+2*largeKV), ropeStoreBlock)}, ropeStoreBlock, 0, a.step, a.q, k.Address(), v.Address(), angles.Address(),
			a.keys, a.values, 0, 0, largeHeads, largeKV, largeHead, largeHead/2, floatBits(1))
	})
	bytes := float64(rows) * largeHead * (8*largeHeads + 8*largeKV + 4*largeKV + 4*largeKV + 4) // in place, V, 16-bit K and V, angles
	m.row("rope_store_kv_bf16", fmt.Sprintf("%d rows", rows), took, bytes, 0)
}

// sampling measures the choice of tokens from a vocabulary of 152,064.
func (m *meter) sampling() {
	vocab := m.by(152064)
	for _, s := range []struct {
		what string
		spec sampleSpec
	}{
		{"greedy", sampleSpec{topP: 1}}, {"temperature", sampleSpec{temperature: 1, topP: 1}},
		{"top-p 0.9", sampleSpec{temperature: 1, topP: 0.9}}, {"top-k 50", sampleSpec{temperature: 1, topP: 1, topK: 50}},
	} {
		for _, rows := range []int{1, 64, 256} {
			rows = max(1, rows/m.scale)
			specs := make([]sampleSpec, rows)
			for i := range specs {
				specs[i] = s.spec
				specs[i].output, specs[i].row, specs[i].seed = int32(i), int32(i), uint64(i)
				specs[i].repetition, specs[i].allowedAt, specs[i].score = 1, -1, -1
			}
			m.seed("sampling")
			one := m.floats(vocab, 2)
			logits := m.take(4 * int64(rows) * int64(vocab))
			copied := copy(m.pinned.Bytes(), bytesOf(one))
			for i := range rows {
				m.must(m.stream.Upload(logits, 4*int64(i)*int64(vocab), m.pinned, 0, int64(copied)))
			}
			m.must(m.stream.Synchronize())
			blocks := min(rows, m.splits.multiprocessors)
			step := m.header(stepHeader{outputs: int32(rows), samples: int32(rows), vocab: int32(vocab), sampled: m.zeros(4 * int64(rows)).Address(),
				sample: address(m.bed, specs), sampleResult: m.zeros(sizeOf[sampleResult](rows)).Address()})
			scratch := m.take(int64(blocks) * samplerBytes(vocab)).Address()
			took := m.each(func(int) {
				m.start("sample", driver.Dim{X: blocks}, samplingThreads, 0, step, logits.Address(), scratch)
			})
			m.row("sample", fmt.Sprintf("%s: %d rows of %d", s.what, rows, vocab), took, 4*float64(rows)*float64(vocab), 0)
			m.release()
		}
	}
}
