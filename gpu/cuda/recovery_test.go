//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/cudaemu/control"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

var twentyPages = gpu.PoolSpec{PageSize: 4, Pages: 20, DType: gpu.BF16, Rows: 4}

// faults sets faults of the emulated driver until the end of the test.
func faults(t *testing.T) (set func(string)) {
	t.Helper()
	library, err := cudaemu.Build("kernels", cudaemu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := control.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	set = func(text string) {
		t.Helper()
		if err := c.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { set("off") })
	return set
}

// opens is a row with a prompt of four tokens on three pages.
func opens(row gpu.Row, first int32) gputest.Part {
	p := gputest.Whole([]int32{1, 2, 3, 4}, []int32{first, first + 1, first + 2})
	p.Row, p.Sample = row, 1
	return p
}

func decodes(row gpu.Row) gputest.Part {
	return gputest.Part{RowWork: gpu.RowWork{Row: row, Start: 4, Count: 1, Sample: 1}}
}

// If memory for the data of a step is short once, later steps run.
func TestMemoryThatIsShortOnce(t *testing.T) {
	set := faults(t)
	for _, call := range []string{"cuMemAlloc:1=2", "cuMemHostAlloc:1=2"} {
		m := loaded(t, Options{}, graphShape, twentyPages)
		set(call)
		if _, err := gputest.Fresh(m, opens(0, 1)); err == nil {
			t.Fatalf("%s: the step does not fail", call)
		}
		set("off")
		for step := range 4 {
			if _, err := gputest.Fresh(m, opens(0, 1)); err != nil {
				t.Errorf("%s: step %d after it: %v", call, step, err)
			}
		}
	}
}

// Without a graph, for whatever reason, a decode step goes on kernel by kernel, and so does
// the next one.
func TestNoGraph(t *testing.T) {
	set := faults(t)
	want := ""
	for _, fault := range []string{
		"off", "cuGraphInstantiateWithFlags:*=2", "cuGraphInstantiateWithFlags:*=801", "cuStreamBeginCapture:*=801",
		"cuLaunchKernelEx:1=801", "cuGraphLaunch:*=2",
	} {
		m := loaded(t, Options{}, graphShape, twentyPages)
		if _, err := gputest.Fresh(m, opens(0, 1)); err != nil {
			t.Fatal(err)
		}
		set(fault)
		got := ""
		for i := range int64(2) {
			next := decodes(0)
			next.Start += int(i)
			rows, err := gputest.Step(m, next)
			if err != nil {
				t.Fatalf("%s, step %d: %v", fault, i, err)
			}
			got += fmt.Sprint(rows)
		}
		set("off")
		if fault == "off" {
			want = got
		} else if got != want {
			t.Errorf("%s: %s, want %s", fault, got, want)
		}
	}
}

// A panic while a graph is captured ends the capture.
func TestAPanicInACapture(t *testing.T) {
	m := loaded(t, Options{}, graphShape, twentyPages)
	if _, err := gputest.Fresh(m, opens(0, 1)); err != nil {
		t.Fatal(err)
	}
	body := m.compiled.body
	m.compiled.body = append(slices.Clone(body), launch{}) // without a kernel
	if _, err := gputest.Step(m, decodes(0)); err == nil {
		t.Error("no error")
	}
	m.compiled.body = body
	if _, err := gputest.Fresh(m, opens(0, 1)); err != nil {
		t.Error(err)
	}
}

// A goroutine of steps that cannot have the device's context: a step ends only when nothing
// of it runs, and steps fail until one with Reset.
func TestNoContext(t *testing.T) {
	set := faults(t)
	for _, fault := range []string{"cuCtxSetCurrent:1=2", "cuCtxSetCurrent:2=2"} {
		m := loaded(t, Options{}, graphShape, twentyPages)
		set(fault)
		_, err := gputest.Fresh(m, opens(0, 1))
		set("off")
		if err == nil {
			t.Errorf("%s: no error", fault)
		}
		if err := m.worker.do(func() error {
			done, err := m.stream.Done()
			if !done {
				err = errors.Join(err, errors.New("the stream is not done"))
			}
			return err
		}); err != nil {
			t.Errorf("%s: %v", fault, err)
		}
		if _, err := gputest.Step(m, opens(0, 1)); err == nil {
			t.Errorf("%s: a step without Reset has no error", fault)
		}
		if _, err := gputest.Fresh(m, opens(0, 1)); err != nil {
			t.Errorf("%s: %v", fault, err)
		}
	}
}

// An unknown code ends the process if the stream reports it again.
func TestAnUnknownCodeTwice(t *testing.T) {
	set := faults(t)
	for _, c := range []struct {
		fault string
		lost  bool
	}{{"cuEventSynchronize:1=1234", false}, {"cuEventSynchronize:1=1234;cuStreamSynchronize:1=1234", true}} {
		m := loaded(t, Options{}, graphShape, twentyPages)
		set(c.fault)
		_, err := gputest.Fresh(m, opens(0, 1))
		set("off")
		if e, is := errors.AsType[lost](err); err == nil || is != c.lost || is && !e.Sticky() {
			t.Errorf("%s: %v; lost: %v", c.fault, err, is)
		}
	}
}

// A panic while weights are loaded leaves nothing on the device.
func TestAPanicInALoad(t *testing.T) {
	d := opened(t, Options{})
	p, w := gputest.Build(graphShape, 1)
	before := fmt.Sprint(driver.Live())
	if _, err := d.Load(p, w, func(_, _ int64) { panic("progress") }); err == nil {
		t.Error("no error")
	}
	if now := fmt.Sprint(driver.Live()); now != before {
		t.Errorf("open are %s, before %s", now, before)
	}
}

func TestAStickyErrorIsFoundBehindAnother(t *testing.T) {
	short, dead := &driver.Error{Call: "a"}, &driver.Error{Call: "b", Sticky: true}
	if _, is := marked(fmt.Errorf("step: %w", errors.Join(short, dead))).(lost); !is {
		t.Error("the device is not lost")
	}
	if _, is := marked(errors.Join(short, short)).(lost); is {
		t.Error("the device is lost")
	}
}

// two are models that share weights.
func two(t *testing.T) (Device, gpu.Model, gpu.Model, gpu.PoolSpec) {
	t.Helper()
	d := opened(t, Options{})
	p, w := gputest.Build(graphShape, 1)
	spec := gputest.Pool(p, twentyPages)
	m, err := gputest.Load(d, p, w, spec)
	if err != nil {
		t.Fatal(err)
	}
	return d, m, m.(gpu.Sharer).Share(), spec
}

// A model that shares weights leaves nothing open if its first pool fails.
func TestASharedModelWhosePoolFailsOnce(t *testing.T) {
	set := faults(t)
	d, first, second, spec := two(t)
	set("cuStreamCreate:1=2")
	if err := second.NewPool(spec); err == nil {
		t.Error("the pool does not fail")
	}
	set("off")
	if err := second.NewPool(spec); err != nil {
		t.Error(err)
	}
	if err := errors.Join(first.Close(), second.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}

// The first model closes while the second one computes; the second one closes in the done
// of its last step.
func TestTheFirstModelClosesWhileTheSecondComputes(t *testing.T) {
	d, first, second, spec := two(t)
	if err := second.NewPool(spec); err != nil {
		t.Fatal(err)
	}
	var got [2]string
	for i := range got {
		over := make(chan error, 2)
		note := func(r *gpu.StepResult, err error) {
			if err == nil {
				got[i] += fmt.Sprint(r.Rows)
			}
			over <- err
		}
		second.Submit(gputest.FreshBatch(opens(0, 1)), note)
		second.Submit(gputest.Batch(decodes(0)), note)
		if i == 1 {
			if err := first.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(<-over, <-over); err != nil {
			t.Error(err)
		}
	}
	if got[0] != got[1] {
		t.Errorf("%s, before %s", got[1], got[0])
	}
	over := make(chan error, 1)
	second.Submit(gputest.FreshBatch(opens(0, 1)), func(*gpu.StepResult, error) { over <- second.Close() })
	if err := errors.Join(<-over, d.Close()); err != nil {
		t.Error(err)
	}
}

// A row has nothing to sample while the next step with work for it is under way: that step
// has the row's error, and the rows beside it have what they have alone.
func TestNothingToSampleAhead(t *testing.T) {
	m := loaded(t, Options{}, graphShape, twentyPages)
	var want string
	for _, excluded := range []bool{false, true} {
		row, mate := opens(0, 1), opens(1, 4)
		if excluded {
			row.Mask = gpu.Allow(make([]uint32, (graphShape.Vocab+31)/32))
		}
		over := make(chan string, 2)
		note := func(r *gpu.StepResult, err error) {
			switch {
			case err != nil:
				over <- err.Error()
			case excluded && (!errors.Is(r.Rows[0].Err, gpu.ErrNothingToSample) || len(r.Rows[0].Tokens) > 0):
				over <- fmt.Sprintf("row 0 has %v", r.Rows[0])
			default:
				over <- fmt.Sprint(r.Rows[1].Tokens, r.Rows[1].Err)
			}
		}
		m.Submit(gputest.FreshBatch(row, mate), note)
		m.Submit(gputest.Batch(decodes(0), decodes(1)), note)
		got := <-over + <-over
		again := gputest.Batch(opens(0, 10), gputest.Part{RowWork: gpu.RowWork{Row: 1, Start: 5, Count: 1, Sample: 1}})
		again.Closed = []gpu.Row{0}
		rows, err := gputest.Run(m, again)
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprint(rows[0].Tokens, rows[1].Tokens)
		if excluded && got != want {
			t.Errorf("%s, want %s", got, want)
		}
		want = got
	}
}

func TestADecodeStepAllocatesNothing(t *testing.T) {
	shape := graphShape
	shape.Context = 512
	m := loaded(t, Options{}, shape, gpu.PoolSpec{PageSize: 256, Pages: 4, DType: gpu.BF16, Rows: 4})
	p := gputest.Whole([]int32{1, 2, 3, 4}, []int32{1, 2})
	p.Sample = 1
	if _, err := gputest.Fresh(m, p); err != nil {
		t.Fatal(err)
	}
	b := &gpu.StepBatch{Work: []gpu.RowWork{{Start: 4, Count: 1, Sample: 1}}}
	over := make(chan error, 1)
	done := func(_ *gpu.StepResult, err error) { over <- err }
	n := testing.AllocsPerRun(100, func() {
		m.Submit(b, done)
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		b.Work[0].Start++
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}
