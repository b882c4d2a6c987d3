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

func newHeld(t *testing.T) *held {
	h := &held{began: make(chan *gpu.StepBatch, 9), goOn: make(chan error, 9)}
	h.Queue = New(func(b *gpu.StepBatch) (*gpu.StepResult, error) {
		h.began <- b
		if err := <-h.goOn; err != nil {
			if err.Error() == "panic" {
				panic("injected")
			}
			return nil, err
		}
		return &gpu.StepResult{}, nil
	})
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
	h, ends := newHeld(t), make(chan string, 9)
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
	if got := <-ends; !strings.Contains(got, "third: step: 2 steps are in flight") {
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
}

// done may submit the next step although two were in flight, and Quiesce waits
// for that one too.
func TestDoneMaySubmit(t *testing.T) {
	h, steps := newHeld(t), make(chan int, 9)
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
}

func TestAFailureOrAPanicIsTheStepsError(t *testing.T) {
	h, ends := newHeld(t), make(chan error, 9)
	for _, fault := range []string{"out of luck", "panic"} {
		h.goOn <- errors.New(fault)
		h.Submit(&gpu.StepBatch{}, func(_ *gpu.StepResult, err error) { ends <- err })
		if err := <-ends; err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: the step's error is %v", fault, err)
		}
	}
}

func TestCloseEndsTheQueueOnce(t *testing.T) {
	h := newHeld(t)
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
}

// Close ends the goroutine, so Quiesce's callback is called then at the latest, also while
// the done of a refused step runs.
func TestCloseCallsWhatWaitsForQuiet(t *testing.T) {
	h, goOn, ended := newHeld(t), make(chan struct{}), make(chan struct{})
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
}
