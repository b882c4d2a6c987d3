//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// outputTile is how many outputs the ops after Gather take at a time, which bounds the
// memory of logits.
const outputTile = 256

// pool is the memory of a KV pool and of the steps over it.
type pool struct {
	spec gpu.PoolSpec
	// kv has, by layer, K then V of [page][KV head][slot][head_dim] and with int8 the
	// scales of K, then of V: float32 [page][KV head][slot].
	kv       *driver.Memory
	vectors  int64 // bytes of K, or of V, of one layer
	scales   int64 // bytes of their scales; 0: the type has none
	buffers  *driver.Memory
	at       []int64        // offset of each buffer of the program
	twins    []int64        // offset of the 16-bit twin of each buffer, where a product rounds it
	work     *driver.Memory // sums of segments: see splits
	arrived  *driver.Memory // int32 counters of blocks, zeros between launches
	splits   splits
	headers  *driver.Memory // stepHeader by tile, at a fixed address
	tile     int            // rows of a buffer per output
	scratch  *driver.Memory
	samplers int            // blocks that sample at once; each has a part of scratch
	tables   *driver.Memory // page table [row][stride], then the last token sampled for each row
	stride   int
	maps     *driver.Memory // tensor maps
	needs    []need
	pages    []int // of each row, how many entries of the page table are on the device
}

// newPool takes the memory. free is called for what it has taken if it fails.
func newPool(m *model, spec gpu.PoolSpec) (_ *pool, err error) {
	o := planPool(m.program, spec, m.device.Description().Multiprocessors, func(l gpu.Linear) bool {
		_, rounded := m.rounds(l)
		return rounded
	})
	o.pages = make([]int, spec.Rows)
	defer func() {
		if err != nil {
			err = errors.Join(err, o.free())
		}
	}()
	for _, n := range o.needs {
		if *n.to, err = take(m.device, n.what, n.bytes, n.remedy); err != nil {
			return nil, err
		}
	}
	return o, m.stream.Fill(o.arrived, 0, o.arrived.Size(), 0)
}

// need is a block of the device's memory.
type need struct {
	what    string // plural
	purpose string // of Model.Bytes
	bytes   int64
	remedy  string // the first words of a sentence
	to      **driver.Memory
}

// planPool decides what a pool needs, and takes nothing. rounded tells which products have
// their input rounded.
func planPool(p *gpu.Program, spec gpu.PoolSpec, multiprocessors int, rounded func(gpu.Linear) bool) *pool {
	o := &pool{spec: spec, tile: min(outputTile, spec.StepTokens)}
	slots := int64(spec.Pages+1) * int64(spec.PageSize) * int64(p.KV.Heads)
	o.vectors = aligned(slots * int64(spec.DType.Bytes(p.KV.HeadDim)))
	o.scales = aligned(slots * int64(spec.DType.ScaleBytes()))
	o.samplers = max(1, min(o.tile, multiprocessors))
	o.stride = ceilDiv(spec.Context, spec.PageSize)
	o.splits = splits{multiprocessors: multiprocessors, context: o.stride * spec.PageSize}
	work, counters := o.splits.needs(p, spec.StepTokens, o.tile)
	const smaller = "Lower chunked-prefill-size and max-running-requests"
	o.needs = []need{
		{"the KV pool's pages", "kv", int64(p.KV.Layers) * 2 * (o.vectors + o.scales), "Lower mem-fraction-static or max-total-tokens", &o.kv},
		{"the buffers of a step", "activations", o.layBuffers(p, rounded), smaller, &o.buffers},
		{"the blocks that sample", "workspace", int64(o.samplers) * samplerBytes(p.Vocab), smaller, &o.scratch},
		{"the page tables", "workspace", 4 * int64(spec.Rows) * int64(o.stride+1), "Use a larger page-size or lower max-running-requests", &o.tables},
		{"the partial sums of products and attention", "workspace", work, smaller, &o.work},
		{"the counters of blocks", "workspace", 4 * int64(counters), smaller, &o.arrived},
		{"the headers of steps", "workspace", int64(ceilDiv(spec.StepTokens, o.tile)) * headerBytes, smaller, &o.headers},
		{"the tensor maps", "workspace", mapBytes * int64(mostMaps(p)), "Use a smaller model", &o.maps},
	}
	return o
}

// StepBytes implements gpu.StepSizer: what planPool needs without the KV, and an estimate of
// what a step uploads and returns, of rotary tables and of graphs.
func (d *device) StepBytes(p *gpu.Program, spec gpu.PoolSpec) (bytes int64) {
	o := planPool(p, spec, d.multiprocessors, func(gpu.Linear) bool { return !d.options.Plain })
	for _, n := range o.needs {
		if n.purpose != "kv" {
			bytes += aligned(n.bytes)
		}
	}
	var tables []gpu.Rope
	for _, op := range p.Ops {
		rope, is := op.(gpu.Rope)
		if !is || slices.ContainsFunc(tables, func(t gpu.Rope) bool { return slices.Equal(t.InvFreq, rope.InvFreq) }) {
			continue
		}
		tables = append(tables, rope)
		bytes += 8 * int64(len(rope.InvFreq)) * int64(spec.Context)
	}
	const perRow, perLaunch = 4 << 10, 4 << 10
	if !d.options.NoGraphs {
		bytes += int64(graphSizes*len(p.Ops)) * perLaunch
	}
	return bytes + gpu.StepsInFlight*(int64(spec.Rows)*perRow+16*int64(spec.StepTokens))
}

// layBuffers places the buffers of a program and the twins of those that are rounded, and
// returns their size.
func (o *pool) layBuffers(p *gpu.Program, rounded func(gpu.Linear) bool) (bytes int64) {
	for _, b := range p.Buffers {
		o.at, o.twins = append(o.at, bytes), append(o.twins, -1)
		bytes += aligned(4 * int64(o.rows(b)) * int64(b.Width))
	}
	for _, op := range p.Ops {
		if l, is := op.(gpu.Linear); is && o.twins[l.In] < 0 && rounded(l) {
			o.twins[l.In] = bytes
			bytes += aligned(2 * int64(o.rows(p.Buffers[l.In])) * int64(p.Buffers[l.In].Width))
		}
	}
	return bytes
}

// rows is how many rows a buffer has.
func (o *pool) rows(b gpu.BufferSpec) int {
	if b.PerOutput {
		return o.tile
	}
	return o.spec.StepTokens
}

// samplerBytes is the scratch of a block that samples: see kernels/sampling.cu.
func samplerBytes(vocab int) int64 { return 8 * int64((vocab+31)/32*32) }

func take(d *driver.Device, what string, bytes int64, remedy string) (*driver.Memory, error) {
	m, err := d.Alloc(max(bytes, 1))
	if err == nil {
		return m, nil
	}
	if free, total, unknown := d.Memory(); unknown == nil {
		err = lacking(err, what, bytes, free, total, remedy)
	}
	return nil, err
}

// keys is the address of a layer's K; values of its V.
func (o *pool) keys(layer int) uint64 {
	return o.kv.Address() + uint64(layer)*2*uint64(o.vectors+o.scales)
}

func (o *pool) values(layer int) uint64 { return o.keys(layer) + uint64(o.vectors) }

// keyScales is the address of the scales of a layer's K, valueScales of its V; 0 without scales.
func (o *pool) keyScales(layer int) uint64 {
	if o.scales == 0 {
		return 0
	}
	return o.keys(layer) + 2*uint64(o.vectors)
}

func (o *pool) valueScales(layer int) uint64 {
	if o.scales == 0 {
		return 0
	}
	return o.keyScales(layer) + uint64(o.scales)
}

func (o *pool) buffer(b gpu.Buffer) uint64 { return o.buffers.Address() + uint64(o.at[b]) }

func (o *pool) twin(b gpu.Buffer) uint64 { return o.buffers.Address() + uint64(o.twins[b]) }

// sampled is the address of the last tokens sampled for the rows.
func (o *pool) sampled() uint64 {
	return o.tables.Address() + 4*uint64(o.spec.Rows)*uint64(o.stride)
}

func (o *pool) pageShift() int32 { return int32(bits.TrailingZeros(uint(o.spec.PageSize))) }

// changed lists what a step changes in the page table: of each row, the entries that the
// device does not have.
func (o *pool) changed(list []pageWrite, row gpu.Row, pages []int32) []pageWrite {
	for i := o.pages[row]; i < len(pages); i++ {
		list = append(list, pageWrite{int32(row), int32(i), pages[i]})
	}
	o.pages[row] = len(pages)
	return list
}

// forget follows the changes of a step that make entries of the page table invalid.
func (o *pool) forget(b *gpu.StepBatch) {
	if b.Reset {
		clear(o.pages)
	}
	for i := range b.Opened {
		if row := b.Opened[i].Row; row >= 0 && int(row) < len(o.pages) { // others fail the step
			o.pages[row] = 0
		}
	}
	for i := range b.Replaced {
		if r := &b.Replaced[i]; r.Row >= 0 && int(r.Row) < len(o.pages) {
			o.pages[r.Row] = min(o.pages[r.Row], max(0, r.First))
		}
	}
}

func (o *pool) free() error {
	if o == nil {
		return nil
	}
	var errs []error
	for _, n := range o.needs {
		errs = append(errs, (*n.to).Close())
	}
	return errors.Join(errs...)
}

func (o *pool) bytes(all map[string]int64) {
	for _, n := range o.needs {
		all[n.purpose] += (*n.to).Size()
	}
}

// typeName is how kernels call a type of weights or of a pool.
func typeName(d gpu.DType) string {
	names := map[gpu.DType]string{gpu.F32: "f32", gpu.F16: "f16", gpu.BF16: "bf16", gpu.I8: "i8"}
	if name, ok := names[d]; ok {
		return name
	}
	panic(fmt.Sprintf("cuda: there are no kernels for %s", d))
}

// ropeTable has the cosines and sines of a Rope op: float32 [context][half][2].
type ropeTable struct {
	frequencies []float64
	context     int
	memory      *driver.Memory
}

func (t *ropeTable) is(frequencies []float64) bool { return slices.Equal(t.frequencies, frequencies) }
