//go:build cuda

package cuda

import (
	"errors"

	"github.com/troupe-engine/troupe/gpu"
)

// flow is the way of steps: one begins on the worker while the device computes the one
// before it, whose end another goroutine waits for.
type flow struct {
	steps [gpu.StepsInFlight]step // in turns
	over  chan struct{}           // an entry for each step that has ended since the last one began

	// Of the goroutine that begins steps, and of the worker while it does start.
	begun  int
	unread int            // steps that have begun and whose entry in over was not taken
	batch  *gpu.StepBatch // of the step that begins
	waits  bool           // it has to wait for the one before it
	broken error          // why the device does not have a step; until Reset or a new pool
	starts *call

	// Of the goroutine that ends steps, and of the worker while it does take.
	ended   int
	waiting bool  // this goroutine has the device's context
	failure error // of the step that ends
	result  *gpu.StepResult
	takes   *call
}

func (f *flow) init(m *model) {
	for i := range f.steps {
		s := &f.steps[i]
		s.model, s.starts, s.takes = m, s.start, s.take
	}
	f.over = make(chan struct{}, gpu.StepsInFlight)
	f.starts, f.takes = newCall(m.start), newCall(m.take)
}

// beginStep gives a step to the device. It runs on the queue's first goroutine.
func (m *model) beginStep(b *gpu.StepBatch) error {
	for m.unread > 0 && len(m.over) > 0 {
		<-m.over
		m.unread--
	}
	m.batch = b
	for {
		if err := m.worker.run(m.starts); err != nil {
			return marked(err)
		}
		if !m.waits {
			m.unread++
			return nil
		}
		<-m.over
		m.unread--
	}
}

// start runs on the worker.
func (m *model) start() error {
	if m.waits = m.rows.Waits(m.batch); m.waits {
		return nil
	}
	if m.pool != nil {
		m.pool.forget(m.batch)
	}
	sequences, err := m.rows.Begin(m.batch)
	if err != nil {
		return err
	}
	s := &m.steps[m.begun%gpu.StepsInFlight]
	m.begun++
	s.sequences = sequences
	if m.batch.Reset {
		m.broken = nil
	}
	if s.err = m.broken; s.err == nil { // otherwise its page table may not be there
		s.err = contained(s.starts)
		m.broken = s.err
	}
	return nil
}

// endStep waits for a step's results. It runs on the queue's second goroutine.
func (m *model) endStep(*gpu.StepBatch) (*gpu.StepResult, error) {
	defer func() { m.over <- struct{}{} }()
	s := &m.steps[m.ended%gpu.StepsInFlight]
	m.ended++
	m.failure = m.wait(s)
	if err := m.worker.run(m.takes); err != nil {
		return nil, marked(err)
	}
	return m.result, nil
}

// wait returns when the device is done with the step. The goroutine that calls it keeps the
// device's context; when the goroutine ends, so does its thread.
func (m *model) wait(s *step) error {
	if !m.waiting {
		if _, err := m.device.Use(); err != nil {
			return errors.Join(s.err, err)
		}
		m.waiting = true
	}
	err := s.err
	if err == nil {
		err = s.computed.Synchronize()
	}
	if err != nil { // part of it may be under way
		if over := m.stream.Synchronize(); !sticky(err) {
			err = errors.Join(err, over)
		}
	}
	return err
}

// take runs on the worker.
func (m *model) take() (err error) {
	s := &m.steps[(m.ended-1)%gpu.StepsInFlight]
	if err = m.failure; err == nil {
		err = contained(s.takes)
	}
	if err != nil {
		err = cannotCompute(len(s.sequences), err)
	}
	m.result, err = m.rows.End(err)
	return err
}
