//go:build cuda

package cuda

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// tensor compiles op i, and those after it (before end) that its kernel does too, for tensor
// cores. It returns how many ops these are; 0: the plain family has to compute op i.
func (c *compiler) tensor(i, end int) int {
	if c.model.options.Plain {
		return 0
	}
	switch op := c.model.program.Ops[i].(type) {
	case gpu.RMSNorm:
		if to, is := c.roundedOnly(i); is && op.Group == c.width(op.In) {
			c.round(op.Out, to, form{function: c.kernel("rmsnorm_round_" + typeName(to)), block: normBlock(op.Group), grid: rowsBy(1),
				arguments: []uint64{c.count(op.In), c.pool.buffer(op.In), c.model.weights.address(op.Gain), c.pool.twin(op.Out),
					uint64(op.Group), uint64(op.Group), floatBits(op.Eps)}})
			return 1
		}
	case gpu.SiluMul:
		if to, is := c.roundedOnly(i); is {
			n := c.width(op.Out)
			c.round(op.Out, to, form{function: c.kernel("silu_mul_round_" + typeName(to)), block: along, grid: rowsBy(ceilDiv(n, perRow)),
				arguments: []uint64{c.count(op.Out), c.pool.buffer(op.Gate), c.pool.buffer(op.Up), c.pool.twin(op.Out), uint64(n), uint64(n)}})
			return 1
		}
	case gpu.Rope:
		return c.ropeAndStore(op, i, end)
	case gpu.Linear:
		if to, is := c.model.rounds(op); is {
			ops := productsAt(c.model.program.Ops[:end], i)
			for n := range ops {
				if other, is := c.model.rounds(ops[n]); !is || other != to {
					ops = ops[:n]
					break
				}
			}
			c.product(to, ops...)
			return len(ops)
		}
	case gpu.Attention:
		return c.attention(op, i)
	}
	return 0
}

// rounds reports whether a product is computed on tensor cores, and to which type its input
// is rounded.
func (m *model) rounds(op gpu.Linear) (gpu.DType, bool) {
	held := m.weights.all[op.W]
	return held.dtype, !m.options.Plain && (held.dtype == gpu.F16 || held.dtype == gpu.BF16) && held.cols%8 == 0 && m.kernels.fits("gemm64_"+typeName(held.dtype))
}

// round adds a launch that writes the rounded twin of a buffer.
func (c *compiler) round(b gpu.Buffer, to gpu.DType, f form) {
	c.list = append(c.list, launchOf(f))
	c.fresh[b] = to
}

// product adds up to three Linears with the same input, type and accumulation as one launch,
// after rounding the input unless that is done.
func (c *compiler) product(to gpu.DType, ops ...gpu.Linear) {
	in, k := ops[0].In, c.width(ops[0].In)
	if c.fresh[in] != to {
		c.round(in, to, form{function: c.kernel("round_" + typeName(to)), block: along, grid: rowsBy(ceilDiv(k, perRow)),
			arguments: []uint64{c.count(in), c.pool.buffer(in), c.pool.twin(in), uint64(k), uint64(k)}})
	}
	var l launch
	var columns []int
	total := 0
	for _, op := range ops {
		columns = append(columns, c.width(op.Out))
		total += c.width(op.Out)
	}
	for _, g := range gemms {
		name := g.name + "_" + typeName(to)
		if !c.model.kernels.fits(name) || g.maps && c.model.options.Ampere || !g.isFor(total) {
			continue
		}
		tiles := g.of(columns...)
		f := form{rows: g.rows, function: c.kernel(name), block: g.block, shared: dynamicShared(name), arguments: c.productArguments(g, to, ops),
			grid: func(rows int) driver.Dim { return c.pool.splits.productGrid(g, rows, tiles, k) }}
		if l.forms = append(l.forms, f); g.rows == 0 {
			break
		}
	}
	l.forms[len(l.forms)-1].rows = 0
	c.list = append(c.list, l)
	for _, op := range ops {
		delete(c.fresh, op.Out)
	}
}

// productArguments are those of a kernel for products.
func (c *compiler) productArguments(g gemm, to gpu.DType, ops []gpu.Linear) []uint64 {
	in, k := c.pool.twin(ops[0].In), c.width(ops[0].In)
	var w, bias, out, n [3]uint64
	for i, op := range ops {
		w[i], bias[i], out[i], n[i] = c.model.weights.address(op.W), c.bias(op.Bias), c.pool.buffer(op.Out), uint64(c.width(op.Out))
		if g.maps {
			w[i] = c.maps.of(to, w[i], int(n[i]), k)
		}
	}
	if g.maps {
		in = c.maps.of(to, in, c.pool.rows(c.model.program.Buffers[ops[0].In]), k)
	}
	list := slices.Concat([]uint64{c.count(ops[0].In), in}, w[:], bias[:], out[:], n[:], []uint64{uint64(k), flag(ops[0].Accumulate)})
	if g.splits {
		list = append(list, c.pool.work.Address(), c.pool.arrived.Address())
	}
	return list
}

const ropeStoreBlock = 256 // threads; a warp has a head

// ropeAndStore adds the rotation of queries and keys and the store of K and V, which follow
// each other in decoders, as one launch.
func (c *compiler) ropeAndStore(q gpu.Rope, i, end int) int {
	if i+2 >= end {
		return 0
	}
	ops, kv := c.model.program.Ops, c.model.program.KV
	k, is := ops[i+1].(gpu.Rope)
	store, also := ops[i+2].(gpu.StoreKV)
	if !is || !also || store.K != k.X || store.V == k.X || q.X == k.X || q.X == store.V ||
		q.HeadDim != kv.HeadDim || k.HeadDim != kv.HeadDim || q.Scale != k.Scale || !slices.Equal(q.InvFreq, k.InvFreq) {
		return 0
	}
	o, heads := c.pool, c.width(q.X)/q.HeadDim
	c.list = append(c.list, launchOf(form{function: c.pooled("rope_store_kv"), block: ropeStoreBlock, grid: rowsBy(ceilDiv(32*(heads+2*kv.Heads), ropeStoreBlock)),
		arguments: []uint64{c.step, o.buffer(q.X), o.buffer(k.X), o.buffer(store.V), c.angles(q),
			o.keys(store.Layer), o.values(store.Layer), o.keyScales(store.Layer), o.valueScales(store.Layer),
			uint64(heads), uint64(kv.Heads), uint64(kv.HeadDim), uint64(len(q.InvFreq)), floatBits(q.Scale)}}))
	delete(c.fresh, q.X)
	delete(c.fresh, k.X)
	return 3
}

// decodeRows are those of a tile of the kernel for decoding.
const decodeRows = 16

// Of the kernel for prompts: the most heads that share a KV head, and threads.
const (
	promptGroup = 64
	promptBlock = 256
)

// promptRows are those of a tile of the kernel for prompts: heads of tokens.
func promptRows(headDim int) int {
	if headDim > 128 {
		return 64
	}
	return 128
}

// attention adds the two kernels of an Attention: for tokens that are alone in their
// sequence, and for the parts of prompts.
func (c *compiler) attention(op gpu.Attention, i int) int {
	o, kv := c.pool, c.model.program.KV
	decode, prompt, is := c.model.kernels.attention(o.spec.DType, kv.HeadDim, op.Heads/kv.Heads)
	if !is {
		return 0
	}
	out, kind := o.buffer(op.Out), 0
	to, rounded := c.roundedOnly(i)
	if rounded {
		out, kind = o.twin(op.Out), map[gpu.DType]int{gpu.BF16: 1, gpu.F16: 2}[to]
	}
	group := op.Heads / kv.Heads
	blocks := kv.Heads * ceilDiv(group, decodeRows)
	arguments := []uint64{c.step, o.buffer(op.Q), out, uint64(kind), o.keys(op.Layer), o.values(op.Layer), o.keyScales(op.Layer), o.valueScales(op.Layer),
		uint64(op.Heads), uint64(kv.Heads), uint64(kv.HeadDim), floatBits(op.Scale)}
	c.list = append(c.list,
		launch{when: someAlone, forms: []form{{function: c.kernel(decode), block: 128, shared: dynamicShared(decode),
			grid: func(rows int) driver.Dim {
				return driver.Dim{X: rows, Y: blocks, Z: o.splits.decode(rows, op.Heads, kv)}
			},
			arguments: append(slices.Clone(arguments), o.work.Address(), uint64(o.work.Size()/4), o.arrived.Address())}}},
		launch{when: somePrompt, forms: []form{{function: c.kernel(prompt), block: promptBlock, shared: dynamicShared(prompt),
			grid: func(rows int) driver.Dim {
				return driver.Dim{X: ceilDiv(rows, promptRows(kv.HeadDim)/group), Y: kv.Heads}
			},
			arguments: arguments}}})
	delete(c.fresh, op.Out)
	if rounded {
		c.fresh[op.Out] = to
	}
	return 1
}

// attention names the kernels for a pool on tensor cores. It reports false if there are none.
func (s *kernelSet) attention(kv gpu.DType, headDim, group int) (decode, prompt string, ok bool) {
	width := 64
	for width < headDim {
		width *= 2
	}
	if kv == gpu.F32 || headDim%8 != 0 || width > widestHead || group > promptGroup {
		return "", "", false
	}
	end := fmt.Sprintf("_%s_%d", typeName(kv), width)
	decode, prompt = "attention_decode"+end, "attention_prompt"+end
	return decode, prompt, s.fits(decode) && s.fits(prompt)
}
