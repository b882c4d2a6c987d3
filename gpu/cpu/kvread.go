package cpu

import (
	"unsafe"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/attn"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/convert"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// kvBlock locates the keys and values of one head for a block of positions of a sequence.
type kvBlock struct {
	base         *byte
	kind         attn.KV
	keys, values attn.Runs
	count        int // runs
	// Of I8, by position of the block; nil otherwise.
	keyScales, valueScales []float32
}

// kvReader walks the blocks of a sequence's head.
type kvReader struct {
	pool         *pool
	scratch      *scratch
	level        simd.Level
	pages        []int32
	keys, values int  // planes, in slots
	end          int  // positions
	widen        bool // to float32: many queries share it, or the level is Portable
	block        kvBlock
}

func (w *scratch) reader(s *step, pages []int32, layer, head, end int, widen bool) *kvReader {
	r := &w.kv
	*r = kvReader{pool: s.pool, scratch: w, level: s.level, pages: pages, end: end}
	r.keys, r.values = s.pool.plane(layer, head)
	r.widen = (widen || s.level == simd.Portable) && s.pool.kind != attn.F32
	return r
}

// read locates the block from a position on. Runs of 16 slots are read in place; smaller
// pages are copied together first.
func (r *kvReader) read(from int) *kvBlock {
	b, p := &r.block, r.pool
	n := min(attn.BlockSlots, r.end-from)
	b.kind, b.count = p.kind, (n+attn.RunSlots-1)/attn.RunSlots
	if p.kind == attn.I8 {
		r.scales(from, n)
	}
	if p.run == attn.RunSlots {
		b.base = &p.mem[0]
		r.runs(&b.keys, r.keys, from, b.count)
		r.runs(&b.values, r.values, from, b.count)
		next := from + attn.BlockSlots
		for i := range b.keys {
			b.keys[i].Ahead, b.values[i].Ahead = b.values[i].At, b.keys[i].At
			if at := next + i*attn.RunSlots; at < r.end {
				b.values[i].Ahead = r.offset(r.keys, at)
			}
		}
	} else {
		b.base = &r.scratch.gathered[0]
		size := p.shape.HeadDim * p.size * attn.RunSlots
		for i := range b.keys {
			b.keys[i] = attn.Run{At: i * size, Ahead: i * size}
			b.values[i] = attn.Run{At: (len(b.keys) + i) * size, Ahead: i * size}
		}
		switch p.size {
		case 4:
			gatherRuns[uint32](r, from, n)
		case 2:
			gatherRuns[uint16](r, from, n)
		case 1:
			gatherRuns[uint8](r, from, n)
		}
	}
	if r.widen {
		r.widenBlock()
	}
	return b
}

// offset is the start of the run of a position, in bytes.
func (r *kvReader) offset(plane, position int) int {
	p := r.pool
	return (plane + p.at(p.slot(r.pages, position))) * p.shape.HeadDim * p.size
}

// runs locates the runs of a plane; those after the last one repeat it.
func (r *kvReader) runs(out *attn.Runs, plane, from, count int) {
	for i := range out {
		if i < count {
			out[i].At = r.offset(plane, from+i*attn.RunSlots)
		} else {
			out[i].At = out[i-1].At
		}
	}
}

// scales copies the scales of positions together.
func (r *kvReader) scales(from, n int) {
	p, w := r.pool, r.scratch
	for j := 0; j < n; {
		run := min(n-j, p.spec.PageSize-(from+j)&(p.spec.PageSize-1))
		at := p.at(p.slot(r.pages, from+j))
		copy(w.keyScales[j:j+run], p.scales[r.keys+at:])
		copy(w.valueScales[j:j+run], p.scales[r.values+at:])
		j += run
	}
	r.block.keyScales, r.block.valueScales = w.keyScales[:], w.valueScales[:]
}

// gatherRuns copies n positions of pages of less than 16 slots to runs of 16.
func gatherRuns[T any](r *kvReader, from, n int) {
	p, dim := r.pool, r.pool.shape.HeadDim
	out, in := elements[T](r.scratch.gathered, 0), elements[T](p.mem, 0)
	values := out[attn.BlockSlots*dim:]
	for j := 0; j < n; {
		run := min(n-j, p.run-(from+j)&(p.run-1))
		at := p.at(p.slot(r.pages, from+j))
		copy(values[j*dim:(j+run)*dim], in[(r.values+at)*dim:])
		// The page's keys are [dim][p.run] and begin at its first slot.
		skip := at & (p.run - 1)
		keys := in[(r.keys+at-skip)*dim+skip:]
		to := out[j&^(attn.RunSlots-1)*dim+j&(attn.RunSlots-1):]
		for d := range dim {
			copy(to[d*attn.RunSlots:d*attn.RunSlots+run], keys[d*p.run:])
		}
		j += run
	}
}

// widenBlock converts the block to float32.
func (r *kvReader) widenBlock() {
	b, wide := &r.block, r.scratch.floats
	size := r.pool.shape.HeadDim * attn.RunSlots
	for i := range b.count {
		for j, runs := range []*attn.Runs{&b.keys, &b.values} {
			out := wide[(j*len(runs)+i)*size:][:size]
			from := unsafe.Add(unsafe.Pointer(b.base), runs[i].At)
			if b.kind == attn.I8 {
				convert.WidenI8(r.level, out, unsafe.Slice((*int8)(from), size))
			} else {
				convert.Widen(r.level, r.pool.form, out, unsafe.Slice((*uint16)(from), size))
			}
		}
	}
	for i := range b.keys {
		at := min(i, b.count-1) * size * 4
		b.keys[i] = attn.Run{At: at, Ahead: at}
		b.values[i] = attn.Run{At: at + len(b.keys)*size*4, Ahead: at}
	}
	b.base, b.kind = (*byte)(unsafe.Pointer(&wide[0])), attn.F32
}
