//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// productShape is a product of rows x k with k x n.
type productShape struct{ n, k int }

var goldenProducts = []productShape{{40, 24}, {130, 520}, {96, 1544}, wideProduct, edgeProduct}

// wideProduct has inputs of very different sizes, so that tensor cores cut most of what they
// add, and sums that are next to nothing.
var wideProduct = productShape{72, 264}

// edgeProduct has zeros times large numbers, beside sums that are tiny or subnormal, so that
// it shows what exponent a tensor core gives a zero.
var edgeProduct = productShape{72, 64}

// mostRows is how many rows the inputs of golden products have; a case takes the first.
const mostRows = 200

// goldenSplits has few multiprocessors, so that a block gets columns for several passes.
var goldenSplits = splits{multiprocessors: 2}

// productCases are products on tensor cores: all kernels give the same bits for a row,
// however many rows a step has and over however many blocks the sum is spread.
func productCases() (list []goldenCase) {
	for _, to := range []gpu.DType{gpu.F16, gpu.BF16} {
		for i, s := range goldenProducts {
			biased, accumulate := i != 0 && s != edgeProduct, i == 2
			inputs := fmt.Sprintf("product/%s/%dx%d", typeName(to), s.n, s.k)
			known := map[string]bool{}
			for _, g := range gemms {
				rows := []int{1, g.tile}
				if g.tile > 16 {
					rows = []int{17, min(g.tile, 128) + 1}
				}
				if known[g.name] {
					continue
				}
				known[g.name] = true
				for _, n := range rows {
					for parts := 1; parts == 1 || g.splits && parts <= min(3, ceilDiv(s.k, productSegment)); parts++ {
						name := fmt.Sprintf("%s/%s/rows-%d/splits-%d", inputs, g.name, n, parts)
						add := func(name string, matrices int) {
							list = append(list, goldenCase{name: name, kernels: []string{g.name + "_" + typeName(to)}, inputs: inputs, prefix: true,
								run: func(b *bed) []byte {
									return newProduct(b, to, s, biased, accumulate).gemm(g, n, parts, matrices)
								}})
						}
						add(name, 1)
						if n == rows[0] && parts <= 2 {
							add(name+"/matrices-3", 3)
						}
					}
				}
			}
		}
	}
	for _, w := range []gpu.DType{gpu.F32, gpu.F16, gpu.BF16} {
		for i, s := range []productShape{{33, 7}, {70, 1100}} {
			inputs := fmt.Sprintf("linear/%s/%dx%d", typeName(w), s.n, s.k)
			for _, rows := range []int{1, 19} {
				list = append(list, goldenCase{
					name: fmt.Sprintf("%s/rows-%d", inputs, rows), kernels: []string{"linear_" + typeName(w)}, inputs: inputs, prefix: true,
					run: func(b *bed) []byte { return linear(b, w, s, rows, i == 1) },
				})
			}
		}
	}
	return list
}

// productRun are the inputs of a product.
type productRun struct {
	b          *bed
	to         gpu.DType
	shape      productShape
	in         *driver.Memory
	w          []byte
	bias, old  []float32
	accumulate bool
}

func newProduct(b *bed, to gpu.DType, s productShape, biased, accumulate bool) *productRun {
	p := &productRun{b: b, to: to, shape: s, accumulate: accumulate}
	if s == edgeProduct {
		in, w := b.edges(to, s.k)
		p.in, p.w = put(b, in), w
	} else if s == wideProduct {
		p.in, p.w = put(b, b.wide(to, mostRows*s.k)), b.wide(to, s.n*s.k)
	} else {
		p.in, p.w = put(b, b.elements(to, mostRows*s.k, 1)), b.elements(to, s.n*s.k, 0.1)
	}
	bias := b.floats(s.n, 1)
	if biased {
		p.bias = bias
	}
	p.old = b.floats(mostRows*s.n, 1)
	return p
}

// wide are elements from 2^-12 to 2^12 of both signs, in which every second one is the negative
// of the one before it, a little changed.
func (b *bed) wide(to gpu.DType, n int) []byte {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(b.random.NormFloat64() * math.Pow(2, float64(b.random.IntN(25)-12)))
		if i%2 == 1 {
			x[i] = -x[i-1] * (1 + float32(b.random.IntN(3))*0x1p-8)
		}
	}
	data := make([]byte, to.Bytes(n))
	quant.Quantize(to, data, x)
	return data
}

// edges are the inputs of edgeProduct. In a step of 16 elements all are small, or one factor
// is zero and the other one large, or both kinds are mixed.
func (b *bed) edges(to gpu.DType, k int) (in, w []byte) {
	lowest, small, large := -75, 95, 120 // exponents; how many
	if to == gpu.F16 {
		lowest, small, large = -24, 24, 15
	}
	draw := func(zero, big bool) float32 {
		if zero || !big && b.random.IntN(4) == 0 {
			return 0
		}
		e := lowest + b.random.IntN(small)
		if big {
			e = b.random.IntN(large)
		}
		return float32(math.Copysign(math.Ldexp(1+b.random.Float64(), e), b.random.Float64()-0.5))
	}
	kinds := make([]int, k) // 0: small, 1 and 2: zeros in one factor
	for i := range kinds {
		if step := i / 16 % 4; step == 3 {
			kinds[i] = b.random.IntN(3)
		} else {
			kinds[i] = step
		}
	}
	fill := func(rows, zero int) []byte {
		x := make([]float32, rows*k)
		for i := range x {
			kind := kinds[i%k]
			x[i] = draw(kind == zero, kind != 0)
		}
		data := make([]byte, to.Bytes(len(x)))
		quant.Quantize(to, data, x)
		return data
	}
	return fill(mostRows, 1), fill(edgeProduct.n, 2)
}

// gemm computes some rows. The columns are those of one matrix, or of three, one after the other.
func (p *productRun) gemm(g gemm, rows, parts, matrices int) []byte {
	b, k := p.b, p.shape.k
	columns := []int{p.shape.n}
	if matrices == 3 {
		columns = []int{p.shape.n / 2, p.shape.n / 3, p.shape.n - p.shape.n/2 - p.shape.n/3}
	}
	var w, bias, out, n [3]uint64
	var outs []*driver.Memory
	from := 0
	for i, c := range columns {
		w[i], n[i] = put(b, p.w[2*from*k:2*(from+c)*k]).Address(), uint64(c)
		if p.bias != nil {
			bias[i] = address(b, p.bias[from:from+c])
		}
		o := b.room(4 * int64(rows) * int64(c))
		outs, out[i] = append(outs, o), o.Address()
		if p.accumulate {
			old := make([]float32, 0, rows*c)
			for r := range rows {
				old = append(old, p.old[r*p.shape.n+from:][:c]...)
			}
			size := copy(b.pinned.Bytes(), bytesOf(old))
			b.must(b.stream.Upload(o, 0, b.pinned, 0, int64(size)))
			b.must(b.stream.Synchronize())
		}
		if g.maps {
			w[i] = b.tile(p.to, w[i], c, k)
		}
		from += c
	}
	in := p.in.Address()
	if g.maps {
		in = b.tile(p.to, in, mostRows, k)
	}
	name, count, tiles := g.name+"_"+typeName(p.to), address(b, []int32{int32(rows)}), g.of(columns...)
	arguments := slices.Concat([]uint64{count, in}, w[:], bias[:], out[:], n[:], []uint64{uint64(k), flag(p.accumulate)})
	grid := driver.Dim{X: goldenSplits.blocks(g, tiles), Y: ceilDiv(rows, g.tile)}
	if g.splits {
		grid = driver.Dim{X: tiles * ceilDiv(rows, g.tile), Z: parts}
		var work, arrived uint64
		if parts > 1 {
			work, arrived = b.room(productWork(g, rows, tiles, k, parts)).Address(), b.counters(tiles*ceilDiv(rows, g.tile))
		}
		arguments = append(arguments, work, arrived)
	}
	b.run(name, grid, g.block, dynamicShared(name), arguments...)
	if matrices == 1 {
		return b.get(outs[0], 4*int64(rows)*int64(p.shape.n))
	}
	whole := make([]byte, 4*rows*p.shape.n)
	from = 0
	for i, c := range columns {
		part := b.get(outs[i], 4*int64(rows)*int64(c))
		for r := range rows {
			copy(whole[4*(r*p.shape.n+from):], part[4*r*c:4*(r+1)*c])
		}
		from += c
	}
	return whole
}

// tile puts the description of a matrix for TMA on the device.
func (b *bed) tile(to gpu.DType, matrix uint64, rows, k int) uint64 {
	b.t.Helper()
	elements := driver.BFloat16Elements
	if to == gpu.F16 {
		elements = driver.Float16Elements
	}
	encoded, err := b.device.EncodeTile(driver.Tile{Type: elements, Address: matrix, Sizes: []uint64{uint64(k), uint64(rows)},
		Strides: []uint64{2 * uint64(k)}, Box: []uint32{boxColumns, boxRows}, Swizzle: boxSwizzle})
	b.must(err)
	return put(b, encoded[:]).Address()
}

func linear(b *bed, w gpu.DType, s productShape, rows int, biased bool) []byte {
	in, weights, bias := b.floats(mostRows*s.k, 1), b.elements(w, s.n*s.k, 0.1), uint64(0)
	if biased {
		bias = address(b, b.floats(s.n, 1))
	}
	out := b.room(4 * int64(rows) * int64(s.n))
	b.run("linear_"+typeName(w), driver.Dim{X: ceilDiv(s.n, linearColumns), Y: ceilDiv(rows, linearRows)}, 256, 0,
		address(b, []int32{int32(rows)}), address(b, in), address(b, weights), bias, out.Address(), uint64(s.n), uint64(s.k), 0)
	return b.get(out, 4*int64(rows)*int64(s.n))
}
