package cpu

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/attn"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/convert"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// pool is the KV pool: for each layer and KV head a plane of keys and one of
// values, all planes of keys first. In both layouts a page of one plane is one
// run of memory; they differ in the position of the plane's next page:
//
//	contiguous  [keys and values, layers, heads, pages, page of a plane]
//	paged       [pages, keys and values, layers, heads, page of a plane]
//
// A page of values is [slot][head_dim]. A page of keys is [run of slots]
// [head_dim][slot of the run], in runs of 16 slots, or of the page if it has fewer. So
// scores have positions in lanes, and sums over values have dimensions.
//
// A pool of I8 also has a float32 scale for each slot of a plane, in the same order.
type pool struct {
	spec  gpu.PoolSpec
	shape gpu.KVSpec
	kind  attn.KV
	form  layout.Form // of 16-bit elements
	slots int
	shift uint // log2 of PageSize
	run   int  // slots of a run of keys
	size  int  // bytes of an element
	// In slots: from a plane to the next one, from a page of a plane to its next page.
	planeStride, pageStride int
	mem                     []byte    // elements, then overread
	scales                  []float32 // I8: by slot of a plane
	bytes                   int
	free                    func() error
}

// overread is how many bytes attention may load after a plane's last value.
const overread = 128

// hugePlane is the size of a plane from which backing it 2 MiB at a time wastes little.
const hugePlane = 16 << 20

var kvKinds = map[gpu.DType]attn.KV{gpu.F32: attn.F32, gpu.F16: attn.F16, gpu.BF16: attn.BF16, gpu.I8: attn.I8}

// poolOf is a pool without memory.
func poolOf(spec gpu.PoolSpec, shape gpu.KVSpec) *pool {
	p := &pool{
		spec: spec, shape: shape, kind: kvKinds[spec.DType], form: forms[spec.DType], size: spec.DType.Bytes(1),
		slots: (spec.Pages + 1) * spec.PageSize, run: min(spec.PageSize, attn.RunSlots),
		free: func() error { return nil },
	}
	for 1<<p.shift < spec.PageSize {
		p.shift++
	}
	p.planeStride, p.pageStride = p.slots, spec.PageSize
	if spec.Layout == gpu.Paged {
		p.planeStride, p.pageStride = spec.PageSize, spec.PageSize*p.planes()
	}
	return p
}

func newPool(spec gpu.PoolSpec, shape gpu.KVSpec) (*pool, error) {
	p := poolOf(spec, shape)
	size := float64(shape.BytesPerToken(spec.DType)) * float64(p.slots)
	if size > math.MaxInt/2 || spec.Pages >= math.MaxInt32/spec.PageSize {
		return nil, fmt.Errorf("KV pool: %d pages of %d tokens are too many; lower max-total-tokens", spec.Pages, spec.PageSize)
	}
	if p.bytes = int(size); p.bytes == 0 {
		return p, nil
	}
	mem, free, err := reserve(p.bytes + overread)
	if err != nil {
		return nil, fmt.Errorf("KV pool: %w; lower max-total-tokens or mem-fraction-static", err)
	}
	p.free = free
	// A plane of the contiguous layout is used from its start: the first sequence
	// would back many small ones almost completely.
	if spec.Layout == gpu.Paged || p.bytes/p.planes() >= hugePlane {
		adviseHuge(mem)
	}
	p.use(mem)
	return p, nil
}

// use keeps the pool in mem. Scales come first, where they are aligned.
func (p *pool) use(mem []byte) {
	if p.kind == attn.I8 {
		n := p.slots * p.planes()
		p.scales, mem = unsafe.Slice((*float32)(unsafe.Pointer(&mem[0])), n), mem[4*n:]
	}
	p.mem = mem
}

func (p *pool) planes() int { return 2 * p.shape.Layers * p.shape.Heads }

// plane is the start of the keys and of the values of a head, in slots.
func (p *pool) plane(layer, head int) (keys, values int) {
	k := layer*p.shape.Heads + head
	return k * p.planeStride, (k + p.shape.Layers*p.shape.Heads) * p.planeStride
}

func (p *pool) slot(pages []int32, position int) int {
	return int(pages[position>>p.shift])<<p.shift | position&(p.spec.PageSize-1)
}

// at is the place of a slot in a plane, in slots from the plane's start.
func (p *pool) at(slot int) int {
	return slot>>p.shift*p.pageStride + slot&(p.spec.PageSize-1)
}

// store rounds one row of keys or values into slot at, counted over all planes.
// Elements of keys are p.run apart.
func (p *pool) store(l simd.Level, w *scratch, at int, x []float32, keys bool) {
	first, step := at*len(x), 1
	if keys && p.run > 1 {
		first, step = at&^(p.run-1)*len(x)+at&(p.run-1), p.run
	}
	switch p.kind {
	case attn.F32:
		scatter(elements[float32](p.mem, first), x, step)
	case attn.I8:
		p.scales[at] = convert.QuantizeI8(l, w.codes[:len(x)], x)
		scatter(elements[int8](p.mem, first), w.codes[:len(x)], step)
	default:
		convert.Narrow(l, p.form, w.halves[:len(x)], x)
		scatter(elements[uint16](p.mem, first), w.halves[:len(x)], step)
	}
}

// elements is memory from an element on as elements of one type.
func elements[T any](mem []byte, first int) []T {
	size := int(unsafe.Sizeof(*new(T)))
	mem = mem[first*size:]
	return unsafe.Slice((*T)(unsafe.Pointer(&mem[0])), len(mem)/size)
}

// scatter writes x to every step-th element of out.
func scatter[T any](out, x []T, step int) {
	if step == 1 {
		copy(out, x)
		return
	}
	out = out[:(len(x)-1)*step+1]
	for i, at := 0, 0; i < len(x); i, at = i+1, at+step {
		out[at] = x[i]
	}
}
