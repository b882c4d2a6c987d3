package stepqueue

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
)

// held is a queue whose steps wait for the test; began receives when one runs.
type held struct {
	*Queue
	began chan *gpu.StepBatch
	goOn  chan error
}

// kinds runs a test with both kinds of queues.
func kinds(t *testing.T, test func(t *testing.T, h *held)) {
	t.Run("in one call", func(t *testing.T) { test(t, newHeld(t, false)) })
	t.Run("ahead", func(t *testing.T) { test(t, newHeld(t, true)) })
}

func newHeld(t *testing.T, ahead bool) *held {
	h := &held{began: make(chan *gpu.StepBatch, 9), goOn: make(chan error, 9)}
	begin := func(b *gpu.StepBatch) (bool, error) {
		h.began <- b
		return true, nil
	}
	wait := func() error {
		err := <-h.goOn
		if err != nil && err.Error() == "panic" {
			panic("injected")
		}
		return err
	}
	end := func(err error) (*gpu.StepResult, error) { return &gpu.StepResult{}, err }
	if ahead {
		h.Queue = NewAhead(Ahead{Begin: begin, Wait: wait, End: end})
	} else {
		h.Queue = New(func(b *gpu.StepBatch) (*gpu.StepResult, error) {
			_, _ = begin(b)
			return end(wait())
		})
	}
	t.Cleanup(func() {
		quiet := make(chan struct{})
		h.Quiesce(func() { close(quiet) })
		<-quiet
		if _, err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func TestStepsRunInOrderAndAThirdIsRefused(t *testing.T) {
	kinds(t, func(t *testing.T, h *held) {
		ends := make(chan string, 9)
		submit := func(name string) {
			h.Submit(&gpu.StepBatch{}, func(_ *gpu.StepResult, err error) {
				if err != nil {
					name += ": " + err.Error()
				}
				ends <- name
			})
		}
		submit("first")
		<-h.began
		submit("second")
		submit("third")
		if got := <-ends; !strings.Contains(got, "third: 2 steps are in flight") {
			t.Errorf("the third step ended with %q", got)
		}
		if err := h.Idle(); err == nil {
			t.Error("idle while steps are in flight")
		}
		if _, err := h.Close(); err == nil || !strings.Contains(err.Error(), "in flight") {
			t.Errorf("closed while steps are in flight: %v", err)
		}
		quiet := make(chan struct{})
		h.Quiesce(func() { close(quiet) })
		h.goOn <- nil
		h.goOn <- nil
		<-quiet
		if got := []string{<-ends, <-ends}; !slices.Equal(got, []string{"first", "second"}) {
			t.Errorf("the steps ended as %q", got)
		}
		if err := h.Idle(); err != nil {
			t.Error(err)
		}
	})
}

// done may submit the next step although two were in flight, and Quiesce waits
// for that one too.
func TestDoneMaySubmit(t *testing.T) {
	kinds(t, func(t *testing.T, h *held) {
		steps := make(chan int, 9)
		for range 4 {
			h.goOn <- nil
		}
		h.Submit(&gpu.StepBatch{}, func(*gpu.StepResult, error) {
			steps <- 1
			for i := range 2 {
				h.Submit(&gpu.StepBatch{}, func(_ *gpu.StepResult, err error) {
					if err != nil {
						t.Error(err)
					}
					steps <- i
				})
			}
		})
		quiet := make(chan int)
		h.Quiesce(func() { quiet <- len(steps) })
		if n := <-quiet; n != 3 {
			t.Errorf("quiet after %d of 3 steps", n)
		}
	})
}

func TestAFailureOrAPanicIsTheStepsError(t *testing.T) {
	kinds(t, func(t *testing.T, h *held) {
		ends := make(chan error, 9)
		for _, fault := range []string{"out of luck", "panic"} {
			h.goOn <- errors.New(fault)
			h.Submit(&gpu.StepBatch{}, func(_ *gpu.StepResult, err error) { ends <- err })
			if err := <-ends; err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: the step's error is %v", fault, err)
			}
		}
	})
}

func TestCloseEndsTheQueueOnce(t *testing.T) {
	kinds(t, func(t *testing.T, h *held) {
		if first, err := h.Close(); !first || err != nil {
			t.Error(first, err)
		}
		if first, err := h.Close(); first || err != nil {
			t.Error(first, err)
		}
		ended := make(chan error)
		h.Submit(&gpu.StepBatch{}, func(_ *gpu.StepResult, err error) { ended <- err })
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a step of a closed queue: %v", err)
		}
		if h.Idle() == nil {
			t.Error("a closed queue is idle")
		}
	})
}

// Close ends the goroutine, so Quiesce's callback is called then at the latest, also while
// the done of a refused step runs.
func TestCloseCallsWhatWaitsForQuiet(t *testing.T) {
	kinds(t, func(t *testing.T, h *held) {
		goOn, ended := make(chan struct{}), make(chan struct{})
		for range gpu.StepsInFlight {
			h.Submit(&gpu.StepBatch{}, func(*gpu.StepResult, error) {
				if h.Idle() == nil {
					close(ended)
				}
			})
		}
		h.Submit(&gpu.StepBatch{}, func(*gpu.StepResult, error) { <-goOn })
		for range gpu.StepsInFlight {
			h.goOn <- nil
		}
		<-ended
		quiet := make(chan struct{})
		if !h.wake(func() { close(quiet) }) {
			t.Fatal("the queue is closed")
		}
		if first, err := h.Close(); !first || err != nil {
			t.Fatal(first, err)
		}
		<-quiet
		close(goOn)
	})
}

// A step begins while the one before it is computed. One whose begin fails, or panics, has
// its error in its turn.
func TestAStepBeginsAhead(t *testing.T) {
	h, ends := newHeld(t, true), make(chan string, 9)
	submit := func(name string) {
		h.Submit(&gpu.StepBatch{}, func(_ *gpu.StepResult, err error) { ends <- name })
	}
	submit("first")
	submit("second")
	<-h.began
	<-h.began // and the first one has no end
	h.goOn <- nil
	h.goOn <- nil
	if got := []string{<-ends, <-ends}; !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("the steps ended as %q", got)
	}
}

func TestAStepThatDoesNotBegin(t *testing.T) {
	goOn, ends := make(chan struct{}), make(chan error, 9)
	faults := []func() error{func() error { return nil }, func() error { return errors.New("no room") }, func() error { panic("injected") }}
	next := 0
	q := NewAhead(Ahead{
		Begin: func(*gpu.StepBatch) (bool, error) {
			next++
			return true, faults[next-1]()
		},
		Wait: func() error {
			<-goOn
			return nil
		},
		End: func(err error) (*gpu.StepResult, error) { return nil, err },
	})
	for range 2 {
		q.Submit(&gpu.StepBatch{}, func(_ *gpu.StepResult, err error) { ends <- err })
	}
	goOn <- struct{}{}
	if err := <-ends; err != nil {
		t.Errorf("the step before: %v", err)
	}
	if err := <-ends; err == nil || err.Error() != "no room" {
		t.Errorf("a step that cannot begin: %v", err)
	}
	q.Submit(&gpu.StepBatch{}, func(_ *gpu.StepResult, err error) { ends <- err })
	if err := <-ends; err == nil || !strings.Contains(err.Error(), "panic: injected") {
		t.Errorf("a panic: %v", err)
	}
	quiet := make(chan struct{})
	q.Quiesce(func() { close(quiet) })
	<-quiet
	if _, err := q.Close(); err != nil {
		t.Error(err)
	}
}

// A step that has to wait begins when the one before it has ended.
func TestAStepThatWaitsForTheOneBefore(t *testing.T) {
	inFlight, refused := 0, 0
	ends := make(chan int, 9)
	q := NewAhead(Ahead{
		Begin: func(*gpu.StepBatch) (bool, error) {
			if inFlight > 0 {
				refused++
				return false, nil
			}
			inFlight++
			return true, nil
		},
		Wait: func() error { return nil },
		End: func(err error) (*gpu.StepResult, error) {
			inFlight--
			return nil, err
		},
	})
	const steps = 1000
	ended := 0
	for n := range steps {
		q.Submit(&gpu.StepBatch{}, func(*gpu.StepResult, error) { ends <- n })
		if n+1 >= gpu.StepsInFlight {
			if got := <-ends; got != ended {
				t.Fatalf("step %d ended after %d others", got, ended)
			}
			ended++
		}
	}
	<-ends
	quiet := make(chan struct{})
	q.Quiesce(func() { close(quiet) })
	<-quiet
	if refused == 0 {
		t.Error("no step had to wait")
	}
	if _, err := q.Close(); err != nil {
		t.Error(err)
	}
}
