package fakemodel

import "fmt"

// FaultKind is what goes wrong in a step.
type FaultKind uint8

// The faults that can be injected.
const (
	FailStep   FaultKind = iota + 1 // the step fails after it has written KV
	StickyStep                      // the same, and the device says that it is gone
	PanicStep                       // Submit panics
	HangStep                        // the step never completes, nor does Quiesce
)

var faultNames = [...]string{"", "failed", "sticky", "panicked", "hung"}

// String names the fault.
func (k FaultKind) String() string { return faultNames[k] }

// Fault is a rule: the Step-th step submitted in the executor's life, counted
// from 1, goes wrong, and with Every > 0 each Every-th one after it.
type Fault struct {
	Step  int
	Every int
	Kind  FaultKind
}

func (f Fault) hits(step int) bool {
	return step == f.Step || f.Every > 0 && step > f.Step && (step-f.Step)%f.Every == 0
}

// StepError is why a step could not be computed.
type StepError struct {
	Reason string
	// Gone means that the device will not work again in this process.
	Gone bool
}

// Error implements error.
func (e *StepError) Error() string { return e.Reason }

// Sticky reports whether the device is gone; a runner asks for this method to
// fill BatchFailed.Sticky.
func (e *StepError) Sticky() bool { return e.Gone }

// Inject adds a fault rule for steps to come.
func (e *Executor) Inject(f Fault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opt.Faults = append(e.opt.Faults, f)
}

// fault is the fault due in a step, zero if none. The first rule wins.
func (e *Executor) fault(step int) FaultKind {
	for _, f := range e.opt.Faults {
		if f.hits(step) {
			return f.Kind
		}
	}
	return 0
}

// injected is the error of a step that fails by rule.
func injected(kind FaultKind, step int) *StepError {
	return &StepError{Reason: fmt.Sprintf("injected fault: step %d of this executor %s", step, kind), Gone: kind == StickyStep}
}
