package runner

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// device keeps what it is given until the test completes it.
type device struct {
	steps []messages.StepID
	done  []func(*messages.BatchDone, error)
	panic bool
}

func (d *device) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	if d.panic {
		panic("injected")
	}
	d.steps, d.done = append(d.steps, b.Step), append(d.done, done)
}
func (*device) Reset()              {}
func (*device) Quiesce(done func()) { done() }

// scene is a runner's core with its device and what it has said.
type scene struct {
	*core
	device  *device
	out     messages.Outbox
	answers []string
	itself  []*messages.StepCompleted
}

func newScene() *scene {
	s := &scene{device: &device{}, out: messages.Outbox{Own: messages.Header{Epoch: 3}}}
	s.core = &core{executor: s.device, rows: map[messages.Row]messages.RequestID{},
		answer:    func(m messages.ToFormer) { s.answers = append(s.answers, fmt.Sprintf("%T", m)) },
		completed: func(m *messages.StepCompleted) { s.itself = append(s.itself, m) },
	}
	return s
}

// run sends a step of one row; open is the request that gets the row before, 0
// for none.
func (s *scene) run(step messages.StepID, row messages.Row, open messages.RequestID) {
	b := &messages.RunBatch{Header: messages.Header{Epoch: 3}, Step: step, Work: []messages.RowWork{{Row: row, Count: 1}}}
	if open > 0 {
		if _, held := s.rows[row]; held {
			b.Closed = []messages.Row{row}
		}
		b.Opened = []messages.RowOpened{{Row: row, Request: &messages.EngineRequest{ID: open}}}
	}
	s.Step(0, b, &s.out)
}

// complete ends the oldest step on the device; the runner does not hear of it
// before hear.
func (s *scene) complete(err error) {
	done := s.device.done[0]
	s.device.done = s.device.done[1:]
	if err != nil {
		done(nil, err)
		return
	}
	done(&messages.BatchDone{}, nil)
}

func (s *scene) hear() {
	m := s.itself[0]
	s.itself = s.itself[1:]
	s.Step(0, m, &s.out)
}

func (s *scene) submitted(t *testing.T, want ...messages.StepID) {
	t.Helper()
	if !slices.Equal(s.device.steps, want) {
		t.Errorf("the device has got steps %v, want %v", s.device.steps, want)
	}
}

func TestStepsAreSubmittedOneAfterTheOther(t *testing.T) {
	s := newScene()
	s.run(1, 0, 10)
	s.run(2, 0, 0)
	s.submitted(t, 1)
	s.complete(nil)
	// The batch former hears first and launches the third before the runner
	// knows that the first is over.
	s.run(3, 0, 0)
	s.submitted(t, 1)
	s.hear()
	s.submitted(t, 1, 2)
	s.complete(nil)
	s.hear()
	s.complete(nil)
	s.hear()
	s.submitted(t, 1, 2, 3)
	s.run(4, 0, 0)
	s.submitted(t, 1, 2, 3, 4)
	if len(s.answers) != 3 {
		t.Errorf("three steps gave %v", s.answers)
	}
}

func TestNothingIsSubmittedBehindAFailedStep(t *testing.T) {
	s := newScene()
	s.run(1, 0, 10)
	s.run(2, 0, 0)
	s.complete(errors.New("injected"))
	s.hear()
	s.run(3, 0, 0)
	s.submitted(t, 1)
	if want := []string{"*messages.BatchFailed"}; !slices.Equal(s.answers, want) {
		t.Errorf("answers %v, want %v", s.answers, want)
	}
}

func TestTooManySteps(t *testing.T) {
	s := newScene()
	for step := range messages.StepID(3) {
		s.run(step+1, 0, messages.RequestID(10*(1-min(step, 1))))
	}
	defer func() {
		if recover() == nil {
			t.Error("a fourth step was taken while the first one runs")
		}
	}()
	s.run(4, 0, 0)
}

// The suspects are those whose step is being submitted, by the rows as they are
// in that step.
func TestSuspects(t *testing.T) {
	s := newScene()
	check := func(when string, msg messages.ToRunner, want ...messages.RequestID) {
		t.Helper()
		if got := s.Suspects(msg); !slices.Equal(got, want) {
			t.Errorf("%s: suspects %v, want %v", when, got, want)
		}
	}
	check("a row that is opened", &messages.RunBatch{Work: []messages.RowWork{{Row: 0}},
		Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 10}}}}, 10)
	s.run(1, 0, 10)
	check("nobody waits", &messages.StepCompleted{})
	s.run(2, 0, 20) // the row changes hands
	check("a step waits", &messages.StepCompleted{}, 20)
	s.complete(nil)
	s.device.panic = true
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the device did not panic")
			}
		}()
		s.hear()
	}()
	check("a panic while it is submitted", &messages.StepCompleted{}, 20)
	check("no message", nil)
}
