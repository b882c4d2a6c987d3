//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

var halfTypes = []gpu.DType{gpu.F16, gpu.BF16}

// rowCases are the kernels that go along rows.
func rowCases() (list []goldenCase) {
	add := func(name, kernel string, run func(b *bed) []byte) {
		list = append(list, goldenCase{name: name, kernels: []string{kernel}, run: run})
	}
	for _, d := range []gpu.DType{gpu.F32, gpu.F16, gpu.BF16} {
		add("embed/"+typeName(d), "embed_"+typeName(d), func(b *bed) []byte { return embed(b, d) })
	}
	for _, group := range []int{24, 77, 1032} {
		add(fmt.Sprintf("rmsnorm/%d", group), "rmsnorm", func(b *bed) []byte {
			const rows, groups = 3, 2
			n := groups * group
			out := b.room(4 * rows * int64(n))
			b.run("rmsnorm", driver.Dim{X: rows, Y: groups}, normBlock(group), 0, address(b, []int32{rows}), address(b, b.floats(rows*n, 1)),
				address(b, b.floats(group, 1)), out.Address(), uint64(n), uint64(group), floatBits(1e-5))
			return b.get(out, 4*rows*int64(n))
		})
	}
	for _, to := range halfTypes {
		end := "_" + typeName(to)
		for _, width := range []int{40, 77, 1032} {
			const rows = 3
			stride := ceilDiv(width, 8) * 8
			bytes := 2 * rows * int64(stride)
			add(fmt.Sprintf("rmsnorm_round/%s/%d", typeName(to), width), "rmsnorm_round"+end, func(b *bed) []byte {
				out := b.room(bytes)
				b.run("rmsnorm_round"+end, driver.Dim{X: rows}, normBlock(width), 0, address(b, []int32{rows}), address(b, b.floats(rows*width, 1)),
					address(b, b.floats(width, 1)), out.Address(), uint64(width), uint64(stride), floatBits(1e-6))
				return b.get(out, bytes)
			})
			add(fmt.Sprintf("round/%s/%d", typeName(to), width), "round"+end, func(b *bed) []byte {
				in, out := slices.Concat(halfway(), b.floats(rows*width, 1)), b.room(bytes)
				b.run("round"+end, driver.Dim{X: rows, Y: ceilDiv(width, perRow)}, along, 0, address(b, []int32{rows}), address(b, in[:rows*width]), out.Address(),
					uint64(width), uint64(stride))
				return b.get(out, bytes)
			})
			add(fmt.Sprintf("silu_mul_round/%s/%d", typeName(to), width), "silu_mul_round"+end, func(b *bed) []byte {
				out := b.room(bytes)
				b.run("silu_mul_round"+end, driver.Dim{X: rows, Y: ceilDiv(width, perRow)}, along, 0, address(b, []int32{rows}),
					address(b, b.floats(rows*width, 8)), address(b, b.floats(rows*width, 1)), out.Address(), uint64(width), uint64(stride))
				return b.get(out, bytes)
			})
		}
	}
	add("silu_mul/exponentials", "silu_mul", func(b *bed) []byte {
		gate := exponents(b)
		up, out := slices.Repeat([]float32{1}, len(gate)), b.room(4*int64(len(gate)))
		b.run("silu_mul", driver.Dim{X: 1, Y: ceilDiv(len(gate), perRow)}, along, 0, address(b, []int32{1}), address(b, gate), address(b, up), out.Address(), uint64(len(gate)))
		return b.get(out, 4*int64(len(gate)))
	})
	add("gather", "gather", func(b *bed) []byte {
		const width = 300
		tokens := []int32{4, 0, 2}
		step := b.header(stepHeader{tokens: 5, outputs: int32(len(tokens)), outputToken: address(b, tokens)})
		out := b.room(4 * width * int64(len(tokens)))
		b.run("gather", driver.Dim{X: len(tokens), Y: ceilDiv(width, perRow)}, along, 0, step, address(b, b.floats(5*width, 1)), out.Address(), width)
		return b.get(out, 4*width*int64(len(tokens)))
	})
	return list
}

func embed(b *bed, d gpu.DType) []byte {
	const vocab, width = 50, 300
	ids := []int32{7, -1, 49, vocab}
	step := b.header(stepHeader{tokens: int32(len(ids)), vocab: vocab, tokenID: address(b, ids), tokenRow: address(b, []int32{0, 1, 2, 3}),
		sampled: address(b, []int32{1, 13, 2, 3})})
	out := b.room(4 * width * int64(len(ids)))
	b.run("embed_"+typeName(d), driver.Dim{X: len(ids), Y: ceilDiv(width, perRow)}, along, 0, step, address(b, b.elements(d, vocab*width, 1)), out.Address(), width)
	return b.get(out, 4*width*int64(len(ids)))
}

// halfway are numbers that lie between two of a 16-bit type, at the ends of its range, and
// its smallest.
func halfway() (list []float32) {
	for _, x := range []float32{1 + 0x1p-8, 1 + 3*0x1p-8, 1 + 0x1p-11, 1 + 3*0x1p-11, 65504, 65519.996, 65520, 0x1p-24, 0x1p-25, 3 * 0x1p-26, 0x1p-126, 0x1p-133, 0x1p-149,
		math.MaxFloat32, float32(math.Inf(1)), float32(math.Copysign(0, -1))} {
		list = append(list, x, -x)
	}
	return list
}

// exponents are inputs of e^x in all of its range, with its ends.
func exponents(b *bed) []float32 {
	list := []float32{0, float32(math.Copysign(0, -1)), 88.72283, 88.7229, 89, 89.00001, -87.33655, -103.97, -104, -104.00001, -200, 200, 0x1p-126, 0x1p-149}
	for x := float32(-110); x <= 110; x += 0.0625 {
		list = append(list, x)
	}
	for range 4096 {
		list = append(list, 220*b.random.Float32()-110)
	}
	return list
}
