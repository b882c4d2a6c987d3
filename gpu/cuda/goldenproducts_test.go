//go:build cuda

package cuda

import (
	"fmt"
	"math"

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
			add := func(kernel string, rows, parts int, run func(b *bed, p *productRun)) {
				list = append(list, goldenCase{
					name: fmt.Sprintf("%s/%s/rows-%d/splits-%d", inputs, kernel, rows, parts), kernels: []string{kernel + "_" + typeName(to)},
					inputs: inputs, prefix: true,
					run: func(b *bed) []byte {
						p := newProduct(b, to, s, biased, accumulate)
						p.start(rows, parts)
						run(b, p)
						return b.get(p.out, 4*int64(rows)*int64(s.n))
					},
				})
			}
			for _, g := range gemms {
				rows := []int{1, g.tile}
				if g.tile > 16 {
					rows = []int{17, g.tile + 1}
				}
				for _, n := range rows {
					for parts := 1; parts == 1 || g.splits && parts <= min(3, per(s.k, productSegment)); parts++ {
						add(g.name, n, parts, func(b *bed, p *productRun) { p.gemm(g, parts) })
					}
					if g.several {
						list = append(list, severalCase(g, to, s, biased, accumulate, inputs, n))
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

// severalCase is the product as that of three matrices, whose outputs are put together.
func severalCase(g gemm, to gpu.DType, s productShape, biased, accumulate bool, inputs string, rows int) goldenCase {
	ns := []int{s.n / 2, s.n / 8, s.n - s.n/2 - s.n/8}
	return goldenCase{
		name: fmt.Sprintf("%s/%s/rows-%d/matrices-%d", inputs, g.name, rows, len(ns)), kernels: []string{g.name + "_" + typeName(to)},
		inputs: inputs, prefix: true,
		run: func(b *bed) []byte {
			p := newProduct(b, to, s, biased, accumulate)
			p.old = apart(p.old[:rows*s.n], rows, ns)
			p.start(rows, 1)
			name := g.name + "_" + typeName(to)
			b.run(name, driver.Dim{X: goldenSplits.blocks(g, g.of(ns...)), Y: per(rows, g.tile)}, g.block, dynamicShared(name),
				append(p.several(ns...), uint64(s.k), flag(accumulate))...)
			return together(b.get(p.out, 4*int64(rows)*int64(s.n)), rows, s.n, ns)
		},
	}
}

// apart are the columns of a matrix as matrices of ns columns, one after the other.
func apart(x []float32, rows int, ns []int) (list []float32) {
	width, column := len(x)/rows, 0
	for _, n := range ns {
		for row := range rows {
			list = append(list, x[row*width+column:][:n]...)
		}
		column += n
	}
	return list
}

// together is the opposite of apart, for floats as bytes.
func together(x []byte, rows, width int, ns []int) []byte {
	out, column := make([]byte, len(x)), 0
	for _, n := range ns {
		for row := range rows {
			copy(out[4*(row*width+column):], x[:4*n])
			x = x[4*n:]
		}
		column += n
	}
	return out
}

// productRun are the inputs of a product, on the device.
type productRun struct {
	b             *bed
	to            gpu.DType
	shape         productShape
	in, w, out    *driver.Memory
	bias, count   uint64
	accumulate    bool
	old           []float32
	rows          int
	work, arrived uint64
}

func newProduct(b *bed, to gpu.DType, s productShape, biased, accumulate bool) *productRun {
	p := &productRun{b: b, to: to, shape: s, accumulate: accumulate}
	if s == edgeProduct {
		in, w := b.edges(to, s.k)
		p.in, p.w = put(b, in), put(b, w)
	} else if s == wideProduct {
		p.in, p.w = put(b, b.wide(to, mostRows*s.k)), put(b, b.wide(to, s.n*s.k))
	} else {
		p.in, p.w = put(b, b.elements(to, mostRows*s.k, 1)), put(b, b.elements(to, s.n*s.k, 0.1))
	}
	bias := b.floats(s.n, 1)
	if biased {
		p.bias = address(b, bias)
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

// start prepares for some rows.
func (p *productRun) start(rows, parts int) {
	b := p.b
	p.rows, p.count = rows, address(b, []int32{int32(rows)})
	p.out = b.room(4 * int64(rows) * int64(p.shape.n))
	if p.accumulate {
		n := copy(b.pinned.Bytes(), bytesOf(p.old[:rows*p.shape.n]))
		b.must(b.stream.Upload(p.out, 0, b.pinned, 0, int64(n)))
		b.must(b.stream.Synchronize())
	}
	if parts > 1 {
		p.work = b.room(new(splits).productWork(per(rows, 128)*128, p.shape.n, p.shape.k)).Address()
		p.arrived = b.counters(per(rows, 64) * per(p.shape.n, 128))
	}
}

func (p *productRun) arguments() []uint64 {
	return []uint64{p.count, p.in.Address(), p.w.Address(), p.bias, p.out.Address(), uint64(p.shape.n), uint64(p.shape.k), flag(p.accumulate)}
}

// several are the arguments before K of a kernel that multiplies up to three matrices, here the
// first ns[0] columns of the product, the next ns[1], and the next ns[2]. Its outputs lie one
// after the other.
func (p *productRun) several(ns ...int) []uint64 {
	list := make([]uint64, 14)
	list[0], list[1] = p.count, p.in.Address()
	column := 0
	for i, n := range ns {
		list[2+i] = p.w.Address() + 2*uint64(column*p.shape.k)
		if p.bias != 0 {
			list[5+i] = p.bias + 4*uint64(column)
		}
		list[8+i] = p.out.Address() + 4*uint64(column*p.rows)
		list[11+i] = uint64(n)
		column += n
	}
	return list
}

func (p *productRun) gemm(g gemm, parts int) {
	name, arguments := g.name+"_"+typeName(p.to), p.arguments()
	if g.several {
		arguments = append(p.several(p.shape.n), arguments[6:]...)
	}
	if g.splits {
		arguments = append(arguments, p.work, p.arrived)
	}
	if g.maps {
		arguments[1], arguments[2] = p.b.tile(p.to, p.in.Address(), mostRows, p.shape.k), p.b.tile(p.to, p.w.Address(), p.shape.n, p.shape.k)
	}
	p.b.run(name, driver.Dim{X: goldenSplits.blocks(g, g.of(p.shape.n)), Y: per(p.rows, g.tile), Z: parts}, g.block, dynamicShared(name), arguments...)
}

// tile puts the description of a matrix for TMA on the device.
func (b *bed) tile(to gpu.DType, matrix uint64, rows, k int) uint64 {
	b.t.Helper()
	elements := driver.BFloat16Elements
	if to == gpu.F16 {
		elements = driver.Float16Elements
	}
	encoded, err := b.device.EncodeTile(driver.Tile{Type: elements, Address: matrix, Sizes: []uint64{uint64(k), uint64(rows)},
		Strides: []uint64{2 * uint64(k)}, Box: []uint32{64, 128}, Swizzle: 128})
	b.must(err)
	return put(b, encoded[:]).Address()
}

func linear(b *bed, w gpu.DType, s productShape, rows int, biased bool) []byte {
	in, weights, bias := b.floats(mostRows*s.k, 1), b.elements(w, s.n*s.k, 0.1), uint64(0)
	if biased {
		bias = address(b, b.floats(s.n, 1))
	}
	out := b.room(4 * int64(rows) * int64(s.n))
	b.run("linear_"+typeName(w), driver.Dim{X: per(s.n, linearColumns), Y: per(rows, linearRows)}, 256, 0,
		address(b, []int32{int32(rows)}), address(b, in), address(b, weights), bias, out.Address(), uint64(s.n), uint64(s.k), 0)
	return b.get(out, 4*int64(rows)*int64(s.n))
}
