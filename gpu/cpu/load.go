package cpu

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/quant"
)

const (
	// jobBytes is the size of the panels that one worker packs at a time. A smaller
	// matrix is one job, so that the matrices of a layer are read at the same time.
	jobBytes = 64 << 20
	// pieceBytes are read before the source's memory is released and progress reported.
	pieceBytes = 4 << 20
)

// loading packs a program's weights directly from their mapping into one arena.
type loading struct {
	program *gpu.Program
	options *Options
	source  gpu.Weights
	stream  gpu.StreamedWeights // source, or nil
	sources []tensor
	storage []storage
	weights *weights
	jobs    []job
	arena   int // bytes of all panels
	plan    gpu.WeightPlan

	lock        sync.Mutex // over what follows and calls of progress
	done, total int64
	progress    func(done, total int64)
}

// tensor is the source of a weight while it is being packed.
type tensor struct {
	gpu.Tensor
	once sync.Once
	err  error
	jobs atomic.Int32 // remaining
}

// job is panels [lo, hi) of a weight; a vector has none.
type job struct{ weight, lo, hi int }

func newLoading(p *gpu.Program, w gpu.Weights, o *Options) (*loading, error) {
	l := &loading{
		program: p, options: o, source: w, sources: make([]tensor, len(p.Weights)),
		weights: &weights{all: make([]matrix, len(p.Weights)), free: func() error { return nil }},
	}
	l.stream, _ = w.(gpu.StreamedWeights)
	return l, l.choose()
}

func loadWeights(p *gpu.Program, w gpu.Weights, o Options, progress func(done, total int64)) (*weights, error) {
	l, err := newLoading(p, w, &o)
	if err == nil {
		err = l.reserve()
	}
	if err != nil {
		return nil, err
	}
	l.progress = progress
	if err := l.work(o.Threads); err != nil {
		return nil, errors.Join(err, l.weights.free())
	}
	return l.weights, nil
}

// work does all jobs. After a failure only running jobs are finished. The error is the
// first failure in the order of jobs, so that a file always has the same error.
func (l *loading) work(workers int) error {
	var next atomic.Int64
	var failed atomic.Bool
	var all sync.WaitGroup
	errs := make([]error, len(l.jobs))
	for range workers {
		all.Go(func() {
			for !failed.Load() { // checked before a job is taken: a taken job is done
				j := next.Add(1) - 1
				if j >= int64(len(l.jobs)) {
					return
				}
				if errs[j] = l.do(l.jobs[j]); errs[j] != nil {
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

// choose checks all tensors, decides how each is stored and lists the jobs.
func (l *loading) choose() error {
	logits := logitsOf(l.program)
	for i, s := range l.program.Weights {
		t, err := l.describe(i)
		if err != nil {
			return err
		}
		l.total += int64(t.DType.Bytes(gpu.Elements(t.Shape)))
		h := storageOf(l.options, t, logits[i])
		l.storage = append(l.storage, h)
		m := &l.weights.all[i]
		m.rows, m.cols = 1, s.Shape[0]
		if len(s.Shape) == 1 {
			l.jobs = append(l.jobs, job{weight: i})
			l.note(t.DType, h, 4*m.cols)
			continue
		}
		m.rows, m.cols = s.Shape[0], s.Shape[1]
		m.form = forms[h.dtype]
		size, panels := m.form.PanelBytes(m.cols), layout.Panels(m.rows)
		l.arena += panels * size
		l.note(t.DType, h, panels*size)
		for each, lo := max(1, cmp.Or(l.options.jobBytes, jobBytes)/size), 0; lo < panels; lo += each {
			l.jobs = append(l.jobs, job{i, lo, min(lo+each, panels)})
			l.sources[i].jobs.Add(1)
		}
	}
	l.weights.bytes = l.plan.Bytes
	return nil
}

// note counts a tensor in the plan.
func (l *loading) note(stored gpu.DType, h storage, bytes int) {
	l.plan.Bytes += int64(bytes)
	if h.why == asStored {
		return
	}
	k := gpu.HeldWeights{Stored: stored, Held: h.dtype, Why: reasons[h.why]}
	at := slices.IndexFunc(l.plan.Changed, func(c gpu.HeldWeights) bool { return c.Stored == k.Stored && c.Held == k.Held && c.Why == k.Why })
	if at < 0 {
		at, l.plan.Changed = len(l.plan.Changed), append(l.plan.Changed, k)
	}
	l.plan.Changed[at].Tensors++
	l.plan.Changed[at].Bytes += int64(bytes)
}

// describe returns type and shape of a weight. If the source cannot do so without
// the data, the data is kept for the jobs.
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

// fetch returns the checked tensor of a weight; it is read once.
func (l *loading) fetch(i int) (gpu.Tensor, error) {
	t, s := &l.sources[i], l.program.Weights[i]
	t.once.Do(func() {
		if t.Tensor, t.err = l.source.Tensor(s.Name); t.err == nil {
			t.err = s.Check(t.Tensor)
		}
	})
	return t.Tensor, t.err
}

func (l *loading) do(j job) error {
	t, err := l.fetch(j.weight)
	if err != nil {
		return err
	}
	m := &l.weights.all[j.weight]
	h := l.storage[j.weight]
	if len(t.Shape) == 1 {
		if err := quant.CheckRow(l.source, t, 0, t.DType, t.Data); err != nil {
			return err
		}
		m.f32 = make([]float32, m.cols)
		quant.Dequantize(t.DType, m.f32, t.Data)
		l.read(t.Data)
		l.sources[j.weight].Tensor = gpu.Tensor{}
		return nil
	}
	rows := len(t.Data) / m.rows // bytes of a row
	var lines, encoded [layout.PanelRows][]byte
	var floats []float32
	if h.dtype != t.DType {
		size := h.dtype.Bytes(m.cols)
		floats = make([]float32, m.cols)
		for r, all := 0, make([]byte, layout.PanelRows*size); r < layout.PanelRows; r++ {
			encoded[r] = all[r*size : (r+1)*size]
		}
	}
	piece := max(1, pieceBytes/(rows*layout.PanelRows))
	for lo := j.lo; lo < j.hi; lo += piece {
		hi := min(lo+piece, j.hi)
		for p := lo; p < hi; p++ {
			first := p * layout.PanelRows
			n := min(layout.PanelRows, m.rows-first)
			for r := range n {
				lines[r] = t.Data[(first+r)*rows : (first+r+1)*rows]
				if h.dtype != t.DType {
					encodeRow(h.dtype, encoded[r], t.DType, lines[r], floats)
					lines[r] = encoded[r]
				}
			}
			layout.Pack(m.form, m.panel(p), m.cols, lines[:n])
			for r, line := range lines[:n] { // now: packing has read them into the caches
				if err := quant.CheckRow(l.source, t, first+r, h.dtype, line); err != nil {
					return err
				}
			}
		}
		l.read(t.Data[lo*layout.PanelRows*rows : min(hi*layout.PanelRows, m.rows)*rows])
	}
	if s := &l.sources[j.weight]; s.jobs.Add(-1) == 0 {
		s.Tensor = gpu.Tensor{}
	}
	return nil
}

// read counts what was read of a tensor and releases its memory.
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
