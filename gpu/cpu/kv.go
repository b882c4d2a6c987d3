package cpu

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
)

// pool is the KV pool: for each layer and KV head a plane of keys and one of
// values, all planes of keys first. In both layouts a page of one plane is one
// run of memory, [PageSize, head_dim]; they differ in where the next page of
// the plane begins:
//
//	contiguous  [keys and values, layers, heads, pages, PageSize, head_dim]
//	paged       [pages, keys and values, layers, heads, PageSize, head_dim]
//
// Elements are in f32 or in u16.
type pool struct {
	spec  gpu.PoolSpec
	shape gpu.KVSpec
	slots int
	shift uint // log2 of PageSize
	// In elements: from a plane to the next one, from a page of a plane to its
	// next page.
	planeStride, pageStride int
	f32                     []float32
	u16                     []uint16
	bytes                   int
	free                    func() error
}

func newPool(spec gpu.PoolSpec, shape gpu.KVSpec) (*pool, error) {
	p := &pool{spec: spec, shape: shape, slots: (spec.Pages + 1) * spec.PageSize, free: func() error { return nil }}
	for 1<<p.shift < spec.PageSize {
		p.shift++
	}
	run := spec.PageSize * shape.HeadDim
	p.planeStride, p.pageStride = p.slots*shape.HeadDim, run
	if spec.Layout == gpu.Paged {
		p.planeStride, p.pageStride = run, run*2*shape.Layers*shape.Heads
	}
	size := float64(shape.BytesPerToken(spec.DType)) * float64(p.slots)
	if size > math.MaxInt/2 || p.slots > math.MaxInt32 {
		return nil, fmt.Errorf("KV pool: %d pages of %d are more than can be addressed; ask for fewer tokens", spec.Pages, spec.PageSize)
	}
	if p.bytes = int(size); p.bytes == 0 {
		return p, nil
	}
	mem, free, err := reserve(p.bytes)
	if err != nil {
		return nil, fmt.Errorf("KV pool: %w", err)
	}
	p.free = free
	if spec.DType == gpu.F32 {
		p.f32 = unsafe.Slice((*float32)(unsafe.Pointer(&mem[0])), p.bytes/4)
	} else {
		p.u16 = unsafe.Slice((*uint16)(unsafe.Pointer(&mem[0])), p.bytes/2)
	}
	return p, nil
}

// planes are the offsets of the key and value plane of a head.
func (p *pool) planes(layer, head int) (k, v int) {
	k = (layer*p.shape.Heads + head) * p.planeStride
	return k, k + p.shape.Layers*p.shape.Heads*p.planeStride
}

// slot is where a position lies, through a page table.
func (p *pool) slot(pages []int32, position int) int {
	return int(pages[position>>p.shift])<<p.shift | position&(p.spec.PageSize-1)
}

// at is the offset of a slot within a plane.
func (p *pool) at(slot int) int {
	return slot>>p.shift*p.pageStride + slot&(p.spec.PageSize-1)*p.shape.HeadDim
}

// store rounds one row of keys or values into a plane.
func (p *pool) store(plane, slot int, x []float32) {
	at := plane + p.at(slot)
	if p.f32 != nil {
		copy(p.f32[at:], x)
		return
	}
	narrow(p.spec.DType, p.u16[at:at+len(x)], x)
}

// copyPages copies pages of all planes, in order.
func (p *pool) copyPages(src, dst []int32) {
	run, runs := p.spec.PageSize*p.shape.HeadDim, 2*p.shape.Layers*p.shape.Heads
	if p.spec.Layout == gpu.Paged {
		run, runs = run*runs, 1
	}
	for i := range src {
		from, to := int(src[i])*p.pageStride, int(dst[i])*p.pageStride
		for range runs {
			if p.f32 != nil {
				copy(p.f32[to:to+run], p.f32[from:from+run])
			} else {
				copy(p.u16[to:to+run], p.u16[from:from+run])
			}
			from, to = from+p.planeStride, to+p.planeStride
		}
	}
}
