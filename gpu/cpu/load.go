package cpu

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel"
)

const (
	// jobBytes is what one worker packs in one go, measured in panels. A
	// matrix of less is one job, so that the matrices of a layer are fetched
	// side by side.
	jobBytes = 64 << 20
	// pieceBytes is after how much the source's memory is given back and
	// progress is told.
	pieceBytes = 4 << 20
)

// loading packs the weights of a program, straight from where they are mapped
// into one arena.
type loading struct {
	program *gpu.Program
	source  gpu.Weights
	stream  gpu.StreamedWeights // source, or nil
	sources []tensor
	weights *weights
	jobs    []job

	lock        sync.Mutex // over what follows and calls of progress
	done, total int64
	progress    func(done, total int64)
}

// tensor is the source of a weight while it is being packed.
type tensor struct {
	gpu.Tensor
	once sync.Once
	err  error
	jobs atomic.Int32 // to come
}

// job is panels [lo, hi) of a weight; a vector has none.
type job struct{ weight, lo, hi int }

// loadWeights packs all weights of a program with so many workers.
func loadWeights(p *gpu.Program, w gpu.Weights, o Options, progress func(done, total int64)) (*weights, error) {
	l := &loading{program: p, source: w, sources: make([]tensor, len(p.Weights)), progress: progress}
	l.stream, _ = w.(gpu.StreamedWeights)
	if err := l.plan(); err != nil {
		return nil, err
	}
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, o.Threads)
	for i := range errs {
		all.Go(func() {
			for j := next.Add(1) - 1; j < int64(len(l.jobs)) && errs[i] == nil; j = next.Add(1) - 1 {
				errs[i] = l.do(l.jobs[j])
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, l.weights.free())
	}
	return l.weights, nil
}

// plan checks all tensors, reserves the arena and lists the jobs.
func (l *loading) plan() error {
	l.weights = &weights{all: make([]matrix, len(l.sources)), free: func() error { return nil }}
	arena := 0
	for i, s := range l.program.Weights {
		t, err := l.describe(i)
		if err != nil {
			return err
		}
		if err := numerics.CheckWeight(t); err != nil {
			return err
		}
		m := &l.weights.all[i]
		m.rows, m.cols = 1, s.Shape[0]
		l.total += bytesOf(t)
		if len(s.Shape) == 1 {
			if t.DType.Quantised() {
				return fmt.Errorf("tensor %s has type %s; this device takes vectors in f32, f16 and bf16 only", s.Name, t.DType)
			}
			l.jobs = append(l.jobs, job{weight: i})
			l.weights.bytes += 4 * int64(m.cols)
			continue
		}
		m.rows, m.cols = s.Shape[0], s.Shape[1]
		m.form, _ = formOf(t.DType)
		size, panels := m.form.PanelBytes(m.cols), kernel.Panels(m.rows)
		arena += panels * size
		for each, lo := max(1, jobBytes/size), 0; lo < panels; lo += each {
			l.jobs = append(l.jobs, job{i, lo, min(lo+each, panels)})
			l.sources[i].jobs.Add(1)
		}
	}
	if arena == 0 {
		return nil
	}
	memory, free, err := reserveWeights(arena)
	if err != nil {
		return err
	}
	l.weights.free, l.weights.bytes = free, l.weights.bytes+int64(arena)
	for i := range l.weights.all {
		if m := &l.weights.all[i]; len(l.program.Weights[i].Shape) == 2 {
			n := kernel.Panels(m.rows) * m.form.PanelBytes(m.cols)
			m.panels, memory = memory[:n:n], memory[n:]
		}
	}
	return nil
}

// describe tells type and shape of a weight. Where the source cannot do so
// without the data, that is kept for the jobs.
func (l *loading) describe(i int) (gpu.Tensor, error) {
	s := l.program.Weights[i]
	if l.stream != nil {
		t, err := l.stream.Describe(s.Name)
		if err == nil {
			err = s.CheckType(t)
		}
		return t, err
	}
	return l.fetch(i)
}

// fetch is the tensor of a weight, checked; asked for once.
func (l *loading) fetch(i int) (gpu.Tensor, error) {
	t, s := &l.sources[i], l.program.Weights[i]
	t.once.Do(func() {
		if t.Tensor, t.err = l.source.Tensor(s.Name); t.err == nil {
			t.err = s.Check(t.Tensor)
		}
	})
	return t.Tensor, t.err
}

func bytesOf(t gpu.Tensor) int64 {
	n := int64(t.DType.BlockBytes())
	for _, d := range t.Shape {
		n *= int64(d)
	}
	return n / int64(t.DType.BlockLen())
}

func (l *loading) do(j job) error {
	t, err := l.fetch(j.weight)
	if err != nil {
		return err
	}
	m := &l.weights.all[j.weight]
	if len(t.Shape) == 1 {
		m.f32 = widened(t)
		l.read(t.Data)
		l.sources[j.weight].Tensor = gpu.Tensor{}
		return nil
	}
	rows := len(t.Data) / m.rows // bytes of a row
	var lines [kernel.PanelRows][]byte
	piece := max(1, pieceBytes/(rows*kernel.PanelRows))
	for lo := j.lo; lo < j.hi; lo += piece {
		hi := min(lo+piece, j.hi)
		for p := lo; p < hi; p++ {
			first := p * kernel.PanelRows
			n := min(kernel.PanelRows, m.rows-first)
			for r := range n {
				lines[r] = t.Data[(first+r)*rows : (first+r+1)*rows]
			}
			kernel.Pack(m.form, m.panel(p), m.cols, lines[:n])
		}
		l.read(t.Data[lo*kernel.PanelRows*rows : min(hi*kernel.PanelRows, m.rows)*rows])
	}
	if s := &l.sources[j.weight]; s.jobs.Add(-1) == 0 {
		s.Tensor = gpu.Tensor{}
	}
	return nil
}

// read counts what was read of a tensor and gives its memory back.
func (l *loading) read(data []byte) {
	if l.stream != nil {
		l.stream.Discard(data)
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.done += int64(len(data)); l.progress != nil {
		l.progress(l.done, l.total)
	}
}
