//go:build cuda

package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// weights are those of a model on the device. Models that share them count as users; the
// last one frees them. It belongs to the worker.
type weights struct {
	all    []held
	memory *driver.Memory
	users  int
}

func (w *weights) release() error {
	if w.users--; w.users > 0 {
		return nil
	}
	return w.memory.Close()
}

func (w *weights) address(i gpu.Weight) uint64 { return w.memory.Address() + uint64(w.all[i].at) }

// Weights go through pinned buffers: one is filled while others are copied. Together they fit
// into a cache, for the memory of the host is what limits the rate. A row longer than
// stagingBytes makes them longer, up to mostRow.
const (
	stagingBuffers = 4
	stagingBytes   = 4 << 20
	mostRow        = 32 << 20
)

// Load implements gpu.Device.
func (d *device) Load(p *gpu.Program, w gpu.Weights, progress func(done, total int64)) (gpu.Model, error) {
	if err := d.Supports(p); err != nil {
		return nil, err
	}
	var m *model
	err := d.worker.do(func() (err error) {
		m, err = d.load(p, w, progress)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cuda device: cannot load %s: %w", p.Name, marked(err))
	}
	m.begin()
	return m, nil
}

// load runs on the worker.
func (d *device) load(p *gpu.Program, w gpu.Weights, progress func(done, total int64)) (_ *model, err error) {
	m := &model{weights: &weights{users: 1}, program: p, options: d.options, worker: d.worker, device: d.worker.device}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.free())
		}
	}()
	if err = m.setUp(); err != nil {
		return nil, err
	}
	all, plan, err := place(p, w)
	if err != nil {
		return nil, err
	}
	m.weights.all = all
	if m.weights.memory, err = m.device.Alloc(max(plan.Bytes, 1)); err != nil {
		free, _, _ := m.device.Memory() // only for the error
		return nil, lacking(err, "the model's weights", plan.Bytes, free, "use a smaller model, or --device cpu")
	}
	l := &loading{model: m, source: w, progress: progress}
	l.stream, _ = w.(gpu.StreamedWeights)
	return m, l.run()
}

// setUp loads the kernels and makes the stream of a model.
func (m *model) setUp() (err error) {
	if m.kernels, err = loadKernels(m.device); err != nil {
		return err
	}
	if m.stream, err = m.device.NewStream(); err != nil {
		err = errors.Join(err, m.kernels.close())
		m.kernels = nil
	}
	return err
}

// loading copies tensors to the device, one after the other.
type loading struct {
	model       *model
	source      gpu.Weights
	stream      gpu.StreamedWeights // source, or nil
	progress    func(done, total int64)
	done, total int64
	buffers     [stagingBuffers]staging
	next        int // buffer
}

// staging is a pinned buffer and the end of the copy from it.
type staging struct {
	buffer *driver.Pinned
	copied *driver.Event
}

func (l *loading) run() (err error) {
	defer func() {
		if err != nil { // a copy may be under way
			err = errors.Join(err, l.model.stream.Synchronize())
		}
		for i := range l.buffers {
			err = errors.Join(err, l.buffers[i].copied.Close(), l.buffers[i].buffer.Close())
		}
	}()
	size := int64(1)
	for _, h := range l.model.weights.all {
		size = max(size, h.rowBytes(), min(stagingBytes, h.bytes()))
	}
	for i := range l.buffers {
		b := &l.buffers[i]
		if b.buffer, err = l.model.device.Pin(size); err != nil {
			return err
		}
		if b.copied, err = l.model.device.NewEvent(driver.EventOptions{}); err != nil {
			return err
		}
	}
	for _, s := range l.model.program.Weights {
		t, err := describe(l.source, s)
		if err != nil {
			return err
		}
		l.total += int64(t.DType.Bytes(gpu.Elements(t.Shape)))
	}
	for i, s := range l.model.program.Weights {
		if err := l.tensor(s, l.model.weights.all[i]); err != nil {
			return err
		}
	}
	return l.model.stream.Synchronize()
}

// tensor copies one weight in pieces of whole rows, or of parts of a row that is longer
// than a buffer.
func (l *loading) tensor(s gpu.WeightSpec, h held) error {
	t, err := l.source.Tensor(s.Name)
	if err == nil {
		err = s.Check(t)
	}
	if err != nil {
		return err
	}
	stored := t.DType.Bytes(h.cols) // bytes of a row in the file
	if h.rowBytes() > mostRow {
		return fmt.Errorf("weight %s: rows of %d elements are too long; at most %d bytes are supported", s.Name, h.cols, mostRow)
	}
	for lo, each := 0, int(max(1, stagingBytes/h.rowBytes())); lo < h.rows; lo += each {
		hi := min(lo+each, h.rows)
		b := &l.buffers[l.next]
		l.next = (l.next + 1) % stagingBuffers
		if err := b.copied.Synchronize(); err != nil {
			return err
		}
		if err := l.fill(b.buffer.Bytes(), t, h, lo, hi); err != nil {
			return err
		}
		at, n := h.at+int64(lo)*h.rowBytes(), int64(hi-lo)*h.rowBytes()
		if err := l.model.stream.Upload(l.model.weights.memory, at, b.buffer, 0, n); err != nil {
			return err
		}
		if err := l.model.stream.Record(b.copied); err != nil {
			return err
		}
		l.read(t.Data[lo*stored : hi*stored])
	}
	return nil
}

// fill writes rows [lo, hi) of a tensor as they are held. Several goroutines take a part
// each; the error is that of the first row.
func (l *loading) fill(to []byte, t gpu.Tensor, h held, lo, hi int) error {
	stored, size := t.DType.Bytes(h.cols), int(h.rowBytes())
	workers := min(runtime.GOMAXPROCS(0), hi-lo)
	errs := make([]error, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			from, end := lo+(hi-lo)*i/workers, lo+(hi-lo)*(i+1)/workers
			for r := from; r < end; r++ {
				row := t.Data[r*stored : (r+1)*stored]
				if errs[i] = quant.CheckRow(l.source, t, r, t.DType, row); errs[i] != nil {
					return
				}
				into := to[(r-lo)*size : (r-lo+1)*size]
				if h.dtype == t.DType {
					copy(into, row)
				} else {
					quant.Dequantize(t.DType, unsafe.Slice((*float32)(unsafe.Pointer(&into[0])), h.cols), row)
				}
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

// read counts what was read of a tensor and releases its memory.
func (l *loading) read(data []byte) {
	if l.stream != nil {
		l.stream.Discard(data)
	}
	if l.done += int64(len(data)); l.progress != nil {
		l.progress(l.done, l.total)
	}
}
