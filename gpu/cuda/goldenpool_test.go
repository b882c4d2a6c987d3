//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// Sizes of the cases that write a pool: rows with one page of 16 tokens each.
const (
	poolTokens  = 5
	poolHeads   = 6 // of queries
	poolKVHeads = 2
	poolRows    = 3
)

// poolRun is a pool that kernels write, on the device.
type poolRun struct {
	b                            *bed
	kv                           gpu.DType
	headDim                      int
	step                         uint64
	q, k, v                      *driver.Memory
	keys, values, kscale, vscale *driver.Memory
}

func newPoolRun(b *bed, kv gpu.DType, headDim int) *poolRun {
	p := &poolRun{b: b, kv: kv, headDim: headDim}
	p.step = b.header(stepHeader{tokens: poolTokens, pageShift: 4, pageStride: 1,
		tokenPosition: address(b, []int32{0, 3, 4, 5, 15}), tokenRow: address(b, []int32{0, 1, 1, 1, 2}), pageTable: address(b, []int32{2, 3, 1})})
	p.q = put(b, b.floats(poolTokens*poolHeads*headDim, 1))
	p.k, p.v = put(b, b.floats(poolTokens*poolKVHeads*headDim, 1)), put(b, b.floats(poolTokens*poolKVHeads*headDim, 1))
	vectors := p.vectors()
	p.keys, p.values = b.room(vectors*int64(kv.Bytes(headDim))), b.room(vectors*int64(kv.Bytes(headDim)))
	if kv == gpu.I8 {
		p.kscale, p.vscale = b.room(4*vectors), b.room(4*vectors)
	}
	return p
}

func (p *poolRun) vectors() int64 { return (poolRows + 1) * goldenPages * poolKVHeads }

// pools are the arguments with the pool's addresses.
func (p *poolRun) pools() []uint64 {
	list := []uint64{p.keys.Address(), p.values.Address(), 0, 0}
	if p.kscale != nil {
		list[2], list[3] = p.kscale.Address(), p.vscale.Address()
	}
	return list
}

// written is all of the pool, then queries and keys.
func (p *poolRun) written() (out []byte) {
	for _, m := range []*driver.Memory{p.keys, p.values} {
		out = append(out, p.b.get(m, p.vectors()*int64(p.kv.Bytes(p.headDim)))...)
	}
	if p.kscale != nil {
		out = append(out, slices.Concat(p.b.get(p.kscale, 4*p.vectors()), p.b.get(p.vscale, 4*p.vectors()))...)
	}
	return append(out, slices.Concat(p.b.get(p.q, p.q.Size()), p.b.get(p.k, p.k.Size()))...)
}

// angles are a table of rotary angles for 16 positions.
func angles(b *bed, half int) uint64 {
	var table []float32
	for position := range 16 {
		for i := range half {
			sin, cos := math.Sincos(float64(position) * math.Pow(10000, -float64(i)/float64(half)))
			table = append(table, float32(cos), float32(sin))
		}
	}
	return address(b, table)
}

// poolCases are the kernels that rotate, store, and change pages.
func poolCases() (list []goldenCase) {
	add := func(name, kernel string, run func(b *bed) []byte) {
		list = append(list, goldenCase{name: name, kernels: []string{kernel}, run: run})
	}
	for _, headDim := range []int{18, 128} {
		half := headDim/2 - headDim%4/2
		for _, kv := range gpu.KVDTypes() {
			store, both := "store_kv_"+typeName(kv), "rope_store_kv_"+typeName(kv)
			add(fmt.Sprintf("store_kv/%s/%d", typeName(kv), headDim), store, func(b *bed) []byte {
				p := newPoolRun(b, kv, headDim)
				arguments := slices.Concat([]uint64{p.step, p.k.Address(), p.v.Address()}, p.pools(), []uint64{poolKVHeads, uint64(headDim)})
				b.run(store, driver.Dim{X: poolTokens, Y: poolKVHeads}, 64, 0, arguments...)
				return p.written()
			})
			add(fmt.Sprintf("rope_store_kv/%s/%d", typeName(kv), headDim), both, func(b *bed) []byte {
				p := newPoolRun(b, kv, headDim)
				arguments := slices.Concat([]uint64{p.step, p.q.Address(), p.k.Address(), p.v.Address(), angles(b, half)}, p.pools(),
					[]uint64{poolHeads, poolKVHeads, uint64(headDim), uint64(half), floatBits(1.25)})
				b.run(both, driver.Dim{X: poolTokens, Y: ceilDiv(32*(poolHeads+2*poolKVHeads), ropeStoreBlock)}, ropeStoreBlock, 0, arguments...)
				return p.written()
			})
		}
		add(fmt.Sprintf("rope/%d", headDim), "rope", func(b *bed) []byte {
			p := newPoolRun(b, gpu.F32, headDim)
			width := poolHeads * headDim
			b.run("rope", driver.Dim{X: poolTokens, Y: ceilDiv(poolHeads*half, perRow)}, along, 0, p.step, p.q.Address(), angles(b, half),
				uint64(width), uint64(headDim), uint64(half), floatBits(0.75))
			return b.get(p.q, p.q.Size())
		})
	}
	add("apply_pages", "apply_pages", func(b *bed) []byte {
		writes, table := []pageWrite{{1, 2, 7}, {0, 0, 9}, {2, 3, 4}}, b.zeros(4*3*4)
		b.run("apply_pages", driver.Dim{X: 1}, along, 0, address(b, writes), uint64(len(writes)), table.Address(), 4)
		return b.get(table, 4*3*4)
	})
	for _, size := range []int{1, 2, 4} {
		for _, elements := range []int{64, 37} {
			kernel := fmt.Sprintf("copy_pages_%d", size)
			add(fmt.Sprintf("%s/%d", kernel, elements), kernel, func(b *bed) []byte {
				pool := put(b, b.elements(gpu.I8, 6*elements*size, 1))
				b.run(kernel, driver.Dim{X: 2, Y: 2}, along, 0, address(b, []int32{1, 5}), address(b, []int32{2, 0}), 2, pool.Address(), uint64(elements))
				return b.get(pool, pool.Size())
			})
		}
	}
	return list
}
