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

// Weights go through pinned buffers in pieces of whole rows. Each piece is read by one
// goroutine, while others are read and copied. A row longer than pieceBytes makes the pieces
// longer, up to mostRow.
const (
	pieceBytes = 2 << 20
	mostRow    = 32 << 20
	copies     = 8 // pieces whose copies may be under way while all goroutines read
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
func (d *device) load(p *gpu.Program, w gpu.Weights, progress func(done, total int64)) (*model, error) {
	m := &model{weights: &weights{users: 1}, program: p, options: d.options, worker: d.worker, device: d.worker.device}
	if err := contained(func() error { return m.load(w, progress) }); err != nil {
		return nil, errors.Join(err, m.free())
	}
	return m, nil
}

// load leaves what it has made to the caller, also after an error.
func (m *model) load(w gpu.Weights, progress func(done, total int64)) (err error) {
	if err = m.setUp(); err != nil {
		return err
	}
	all, plan, err := place(m.program, w)
	if err != nil {
		return err
	}
	m.weights.all = all
	if m.weights.memory, err = take(m.device, "the model's weights", plan.Bytes, "Use a smaller model or --device cpu"); err != nil {
		return err
	}
	l := &loading{model: m, source: w, progress: progress}
	l.stream, _ = w.(gpu.StreamedWeights)
	return l.run()
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

// loading copies tensors to the device. Only the worker uses the device; it gives pieces to
// readers and gets them back.
type loading struct {
	model       *model
	source      gpu.Weights
	stream      gpu.StreamedWeights // source, or nil
	progress    func(done, total int64)
	done, total int64

	free    []*staging // not in use
	reading int        // pieces that readers have
	copying []*staging // pieces whose copies may be under way, in the order of their copies
	work    chan *piece
	back    chan *piece // with space for all pieces
	failed  *piece      // the first one, in the order of pieces, that cannot be read
	broken  error       // of the device; after it nothing is copied
}

// staging is a pinned buffer and the end of the copy from it.
type staging struct {
	buffer *driver.Pinned
	copied *driver.Event
}

// piece is some rows of a tensor.
type piece struct {
	number int
	tensor gpu.Tensor
	held   held
	lo, hi int // rows
	into   *staging
	err    error
}

func (l *loading) run() (err error) {
	readers := runtime.GOMAXPROCS(0)
	all := make([]staging, readers+copies)
	l.work, l.back = make(chan *piece, len(all)), make(chan *piece, len(all))
	var ended sync.WaitGroup
	whole := false
	defer func() {
		close(l.work)
		ended.Wait()
		if !whole { // after an error or a panic a copy may be under way
			err = l.model.over(err)
		}
		for i := range all {
			err = errors.Join(err, all[i].copied.Close(), all[i].buffer.Close())
		}
	}()
	size := int64(1)
	for _, h := range l.model.weights.all {
		size = max(size, min(mostRow, max(h.rowBytes(), min(pieceBytes, h.bytes()))))
	}
	for i := range all {
		b := &all[i]
		if b.buffer, err = l.model.device.Pin(size); err != nil {
			return err
		}
		if b.copied, err = l.model.device.NewEvent(driver.EventOptions{}); err != nil {
			return err
		}
		l.free = append(l.free, b)
	}
	for _, s := range l.model.program.Weights {
		t, err := describe(l.source, s)
		if err != nil {
			return err
		}
		l.total += int64(t.DType.Bytes(gpu.Elements(t.Shape)))
	}
	for range readers {
		ended.Go(func() {
			for p := range l.work {
				p.err = contained(func() error { return p.read(l.source) })
				l.back <- p // has space
			}
		})
	}
	number := 0
	for i, s := range l.model.program.Weights {
		if err = l.tensor(s, l.model.weights.all[i], &number); err != nil || l.failed != nil {
			break
		}
	}
	if err = cmp.Or(l.rest(), err); err != nil {
		return err
	}
	err = l.model.stream.Synchronize()
	whole = err == nil
	return err
}

// tensor gives a weight to the readers in pieces.
func (l *loading) tensor(s gpu.WeightSpec, h held, number *int) error {
	t, err := l.source.Tensor(s.Name)
	if err == nil {
		err = s.Check(t)
	}
	if err != nil {
		return err
	}
	if h.rowBytes() > mostRow {
		return fmt.Errorf("weight %s: rows of %d elements are too long; at most %d bytes are supported", s.Name, h.cols, mostRow)
	}
	for lo, each := 0, int(max(1, pieceBytes/h.rowBytes())); lo < h.rows; lo += each {
		into, err := l.buffer()
		if err != nil || l.failed != nil {
			return err // rest has that of the piece
		}
		l.work <- &piece{number: *number, tensor: t, held: h, lo: lo, hi: min(lo+each, h.rows), into: into} // has space
		l.reading++
		*number++
	}
	return nil
}

// buffer waits for one that is free.
func (l *loading) buffer() (*staging, error) {
	for len(l.free) == 0 {
		if len(l.copying) < copies { // so readers have the others
			if l.upload(<-l.back); l.broken != nil {
				return nil, l.broken
			}
			continue
		}
		first := l.copying[0]
		l.copying = l.copying[1:]
		if l.broken = first.copied.Synchronize(); l.broken != nil {
			return nil, l.broken
		}
		l.free = append(l.free, first)
	}
	last := len(l.free) - 1
	b := l.free[last]
	l.free = l.free[:last]
	return b, nil
}

// rest waits for the pieces that readers still have, and returns what went wrong.
func (l *loading) rest() error {
	for l.reading > 0 {
		l.upload(<-l.back)
	}
	if l.broken == nil && l.failed != nil {
		return l.failed.err
	}
	return l.broken
}

// upload copies a piece that was read to the device.
func (l *loading) upload(p *piece) {
	l.reading--
	if l.broken != nil {
		return
	}
	if p.err != nil {
		if l.failed == nil || p.number < l.failed.number {
			l.failed = p
		}
		l.free = append(l.free, p.into)
		return
	}
	l.copying = append(l.copying, p.into)
	at, n := p.held.at+int64(p.lo)*p.held.rowBytes(), int64(p.hi-p.lo)*p.held.rowBytes()
	if l.broken = l.model.stream.Upload(l.model.weights.memory, at, p.into.buffer, 0, n); l.broken != nil {
		return
	}
	if l.broken = l.model.stream.Record(p.into.copied); l.broken != nil {
		return
	}
	stored := p.tensor.DType.Bytes(p.held.cols) // bytes of a row in the file
	l.read(p.tensor.Data[p.lo*stored : p.hi*stored])
}

// read writes the rows as they are held.
func (p *piece) read(source gpu.Weights) error {
	t, h, to := p.tensor, p.held, p.into.buffer.Bytes()
	stored, size := t.DType.Bytes(h.cols), int(h.rowBytes())
	for r := p.lo; r < p.hi; r++ {
		row := t.Data[r*stored : (r+1)*stored]
		if err := quant.CheckRow(source, t, r, t.DType, row); err != nil {
			return err
		}
		into := to[(r-p.lo)*size : (r-p.lo+1)*size]
		if h.dtype == t.DType {
			copy(into, row)
		} else {
			quant.Dequantize(t.DType, unsafe.Slice((*float32)(unsafe.Pointer(&into[0])), h.cols), row)
		}
	}
	return nil
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
