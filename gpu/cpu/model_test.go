package cpu

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// wide is a model large enough for five tokens to wake helpers.
var wide = gputest.Shape{Name: "wide", Vocab: 300, Hidden: 96, Layers: 2, Heads: 6, KVHeads: 3, HeadDim: 16, Intermediate: 200, Context: 512, DType: gpu.BF16}

// load makes a model of a shape and its pool, which are closed at the end of the test.
func load(t testing.TB, s gputest.Shape, o Options, spec gpu.PoolSpec) (*model, *gpu.Program) {
	t.Helper()
	p, w := gputest.Build(s, 1)
	return loadProgram(t, o, p, w, spec), p
}

// loadProgram is load of any program.
func loadProgram(t testing.TB, o Options, p *gpu.Program, w gpu.Weights, spec gpu.PoolSpec) *model {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := gputest.Load(d, p, w, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m.(*model)
}

// prompt is n tokens computed in one step, on their own pages.
func prompt(s gputest.Shape, spec gpu.PoolSpec, n int) gputest.Part {
	var tokens, pages []int32
	for i := range n {
		tokens = append(tokens, int32(i*31%(s.Vocab-1)))
	}
	for i := range (n + spec.PageSize) / spec.PageSize {
		pages = append(pages, int32(min(i+1, spec.Pages)))
	}
	return gputest.Whole(tokens, pages)
}

// chunks computes a prompt in chunks and returns its logits.
func chunks(t testing.TB, m gpu.Model, s gputest.Shape, spec gpu.PoolSpec, sizes ...int) [][]float32 {
	t.Helper()
	n := 0
	for _, size := range sizes {
		n += size
	}
	q := prompt(s, spec, n)
	logits, err := gputest.Chunked(m, q.Open.Prompt, q.Grow, sizes...)
	if err != nil {
		t.Fatal(err)
	}
	return logits
}

func TestThreadsDoNotChangeABit(t *testing.T) {
	spec := gpu.PoolSpec{PageSize: 16, Pages: 30, DType: gpu.BF16}
	var want [][]float32
	for _, o := range []Options{{Threads: 1}, {Threads: 2}, {Threads: 3}, {Threads: 7}} {
		m, _ := load(t, wide, o, spec)
		q := prompt(wide, spec, 140)
		q.KeepLogits = true
		got, err := gputest.Fresh(m, q)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got[0].Logits
		}
		if err := gputest.Same(got[0].Logits, want); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// faulty is a stage that fails in one of the ways a kernel could.
type faulty struct{ how func() error }

func (faulty) units(*step) int                        { return 8 }
func (f faulty) run(_ *step, _ *scratch, u int) error { return f.how() }

func TestAFaultInAKernelFailsTheStepOnly(t *testing.T) {
	spec := gpu.PoolSpec{PageSize: 16, Pages: 4}
	m, _ := load(t, wide, Options{Threads: 2}, spec)
	q := prompt(wide, spec, 20)
	q.KeepLogits = true
	want, err := gputest.Fresh(m, q)
	if err != nil {
		t.Fatal(err)
	}
	sound := m.body
	for what, how := range map[string]func() error{
		"index out of range": func() error { var none []int; return errors.New(string(rune(none[3]))) },
		"out of luck":        func() error { return errors.New("out of luck") },
	} {
		m.body = append([]stage{faulty{how}}, sound...)
		if _, err := gputest.Fresh(m, q); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: the step's error is %v", what, err)
		}
	}
	m.body = sound
	got, err := gputest.Fresh(m, q)
	if err != nil {
		t.Fatal(err)
	}
	if err := gputest.Same(got[0].Logits, want[0].Logits); err != nil {
		t.Errorf("after faults: %v", err)
	}
}

// A step does not allocate, not even for its results.
func TestAllocationsOfAStep(t *testing.T) {
	for _, d := range []gpu.DType{gpu.BF16, gpu.Q8_0} {
		shape := wide
		shape.DType = d
		allocations(t, shape)
	}
}

func allocations(t *testing.T, shape gputest.Shape) {
	spec := gpu.PoolSpec{PageSize: 16, Pages: 4}
	m, _ := load(t, shape, Options{Threads: 2}, spec)
	var parts []gputest.Part
	for i := range 3 {
		q := prompt(wide, spec, 5)
		q.Open.Sampling = gpu.Sampling{Temperature: 0.8, TopP: 0.9, TopK: int32(40 * i), MinP: 0.01, RepetitionPenalty: 1.1, TopLogprobs: -1}
		q.Sample = 1
		parts = append(parts, q)
	}
	batch := gputest.FreshBatch(parts...)
	ended := make(chan error, 1)
	done := func(_ *gpu.StepResult, err error) { ended <- err }
	got := testing.AllocsPerRun(50, func() {
		m.Submit(batch, done)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if got > 0 {
		t.Errorf("%s: a step makes %v allocations, want none", shape.DType, got)
	}
}

func TestCloseEndsGoroutinesAndFreesMemory(t *testing.T) {
	before := runtime.NumGoroutine()
	spec := gpu.PoolSpec{PageSize: 16, Pages: 4}
	for range 5 {
		m, _ := load(t, wide, Options{Threads: 4}, spec)
		if _, err := gputest.Fresh(m, prompt(wide, spec, 30)); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if b := m.Bytes(); b["kv"] != 0 || b["weights"] != 0 {
			t.Errorf("held after Close: %v", b)
		}
	}
	// Helpers end later; each needs to be scheduled once, and the
	// thread that it is on may be late.
	deadline := time.After(time.Minute)
	for tick := time.Tick(time.Millisecond); runtime.NumGoroutine() > before; {
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

func TestOptions(t *testing.T) {
	for threads, want := range map[int]int{0: runtime.GOMAXPROCS(0), 1: 1, 5: 5} {
		d, err := New(Options{Threads: threads})
		if err != nil || d.Info().Threads != want {
			t.Errorf("Threads %d: %v, %v", threads, d, err)
		}
	}
	for _, threads := range []int{-1, 5000} {
		if _, err := New(Options{Threads: threads}); err == nil {
			t.Errorf("Threads %d is not refused", threads)
		}
	}
}

// The pool's pages are reserved, not touched: a pool larger than the machine is refused by
// the system or costs nothing, and never ends the process.
func TestPoolBeyondMemory(t *testing.T) {
	m, p := load(t, wide, Options{Threads: 1}, gpu.PoolSpec{PageSize: 16, Pages: 4})
	for _, pages := range []int{1 << 40, 1 << 50} { // the slots of the latter overflow an int
		huge := gputest.Pool(p, gpu.PoolSpec{PageSize: 1 << 20, Pages: pages, DType: gpu.F32})
		if err := m.NewPool(huge); err == nil || !strings.Contains(err.Error(), "lower max-total-tokens") {
			t.Errorf("a pool of %d pages: %v", pages, err)
		}
	}
	if _, err := gputest.Fresh(m, prompt(wide, gpu.PoolSpec{PageSize: 16}, 5)); err == nil {
		t.Error("a step without a pool is not refused")
	}
	if err := m.NewPool(gputest.Pool(p, gpu.PoolSpec{PageSize: 16, Pages: 4})); err != nil {
		t.Error(err)
	}
}

func TestTypesWithoutKernelsAreRefused(t *testing.T) {
	m, p := load(t, wide, Options{Threads: 1}, gpu.PoolSpec{PageSize: 4, Pages: 2})
	if err := m.NewPool(gputest.Pool(p, gpu.PoolSpec{PageSize: 4, Pages: 2, DType: gpu.Q8_0})); err == nil || !strings.Contains(err.Error(), "q8_0") || m.pool == nil {
		t.Errorf("a pool of q8_0: %v", err)
	}
}
