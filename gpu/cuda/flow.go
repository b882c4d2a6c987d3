//go:build cuda

package cuda

import (
	"errors"

	"github.com/troupe-engine/troupe/gpu"
)

// flow is the way of steps: one begins while the device computes the one before it, whose end
// another goroutine waits for.
type flow struct {
	steps [gpu.StepsInFlight]step // in turns

	// Of the goroutine that begins and ends steps. It owns the model while steps are in flight.
	begun, ended int
	uses         bool  // it has the device's context
	broken       error // why the device does not have a step; until Reset or a new pool

	// Of the goroutine that waits.
	waited int
	waits  bool // it has the device's context
}

func (f *flow) init(m *model) {
	for i := range f.steps {
		s := &f.steps[i]
		s.model, s.starts, s.takes = m, s.start, s.take
	}
}

// use gives the goroutine the device's context, unless it has it. When the goroutine ends, so
// does its thread.
func (m *model) use(has *bool) error {
	if *has {
		return nil
	}
	_, err := m.device.Use()
	*has = err == nil
	return err
}

// beginStep gives a step to the device. It reports false if the step has to wait for the one
// before it.
func (m *model) beginStep(b *gpu.StepBatch) (bool, error) {
	if m.rows.Waits(b) {
		return false, nil
	}
	if err := m.use(&m.uses); err != nil {
		m.broken = err // this step's changes of rows are lost
		return false, marked(err)
	}
	if m.pool != nil {
		m.pool.forget(b)
	}
	sequences, err := m.rows.Begin(b)
	if err != nil {
		return false, marked(err)
	}
	s := &m.steps[m.begun%gpu.StepsInFlight]
	m.begun++
	s.sequences = sequences
	if b.Reset {
		m.broken = nil
	}
	if s.err = m.broken; s.err == nil { // otherwise its page table may not be there
		s.err = contained(s.starts)
		m.broken = s.err
	}
	return true, nil
}

// waitStep returns when the device is done with the next step.
func (m *model) waitStep() error {
	s := &m.steps[m.waited%gpu.StepsInFlight]
	m.waited++
	if err := m.use(&m.waits); err != nil {
		return errors.Join(s.err, notWaited{err})
	}
	err := s.err
	if err == nil {
		err = s.computed.Synchronize()
	}
	if err != nil {
		err = m.over(err)
	}
	return err
}

// notWaited is an error that came before the wait for a step: the device may still compute it.
type notWaited struct{ error }

func (e notWaited) Unwrap() error { return e.error }

// over waits until nothing is under way any more, after an error of a step or of loading, and
// returns the error, with that of the wait unless it is only a consequence.
func (m *model) over(err error) error {
	again := m.stream.Synchronize()
	switch {
	case sticky(err) || again == nil:
		return err
	case repeated(err, again):
		return lost{err}
	}
	return errors.Join(err, again)
}

// endStep makes the results of the step that the device is done with.
func (m *model) endStep(err error) (*gpu.StepResult, error) {
	s := &m.steps[m.ended%gpu.StepsInFlight]
	m.ended++
	if err == nil {
		err = contained(s.takes)
	} else if _, not := errors.AsType[notWaited](err); not {
		err = m.over(err)
	}
	if err != nil {
		err = cannotCompute(len(s.sequences), err)
	}
	result, err := m.rows.End(err)
	return result, marked(err)
}
