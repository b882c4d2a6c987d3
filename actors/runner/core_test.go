package runner

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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
func (*device) Reset(func(messages.RequestID)) {}
func (*device) Quiesce(done func())            { done() }

// scene is a runner's core with its device and what it has said.
type scene struct {
	*core
	device  *device
	now     time.Duration // of the callbacks
	out     messages.Outbox
	answers []string
}

func newScene() *scene {
	s := &scene{device: &device{}, out: messages.Outbox{Own: messages.Header{Epoch: 3}}}
	s.core = &core{executor: s.device, rows: map[messages.Row]messages.RequestID{},
		answer: func(m messages.ToFormer) { s.answers = append(s.answers, fmt.Sprintf("%T", m)) },
		clock:  func() time.Duration { return s.now },
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
	s.Handle(0, b, &s.out)
}

// complete ends the oldest step on the device.
func (s *scene) complete(err error) {
	done := s.device.done[0]
	s.device.done = s.device.done[1:]
	if err != nil {
		done(nil, err)
		return
	}
	done(&messages.BatchDone{}, nil)
}

func (s *scene) submitted(t *testing.T, want ...messages.StepID) {
	t.Helper()
	if !slices.Equal(s.device.steps, want) {
		t.Errorf("the device has got steps %v, want %v", s.device.steps, want)
	}
}

func TestStepsGoToTheDeviceAtOnce(t *testing.T) {
	s := newScene()
	s.run(1, 0, 10)
	s.run(2, 0, 0)
	s.submitted(t, 1, 2)
	s.complete(nil)
	s.run(3, 0, 0)
	s.complete(nil)
	s.complete(nil)
	s.submitted(t, 1, 2, 3)
	if want := []string{"*messages.BatchDone", "*messages.BatchDone", "*messages.BatchDone"}; !slices.Equal(s.answers, want) {
		t.Errorf("answers %v, want %v", s.answers, want)
	}
}

// After a failed step the next one fails also; one answer ends the epoch, and nothing
// more is submitted in it.
func TestNothingIsSubmittedAfterAFailedStep(t *testing.T) {
	s := newScene()
	s.run(1, 0, 10)
	s.run(2, 0, 0)
	s.complete(errors.New("injected"))
	s.complete(errors.New("an earlier step failed"))
	s.run(3, 0, 0)
	s.submitted(t, 1, 2)
	if want := []string{"*messages.BatchFailed"}; !slices.Equal(s.answers, want) {
		t.Errorf("answers %v, want %v", s.answers, want)
	}
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
	opens := &messages.RunBatch{Work: []messages.RowWork{{Row: 0}}, Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 10}}}}
	check("a row that is opened", opens, 10)
	s.run(1, 0, 10)
	check("a row that is open", &messages.RunBatch{Work: []messages.RowWork{{Row: 0}}}, 10)
	check("a row that changes hands", &messages.RunBatch{Work: []messages.RowWork{{Row: 0}}, Closed: []messages.Row{0},
		Opened: []messages.RowOpened{{Row: 0, Request: &messages.EngineRequest{ID: 20}}}}, 20)
	check("a timer", &messages.WatchdogDue{})
	check("no message", nil)
	s.device.panic = true
	next := &messages.RunBatch{Step: 2, Work: []messages.RowWork{{Row: 0}, {Row: 7}}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the device did not panic")
			}
		}()
		s.Handle(0, next, &s.out)
	}()
	check("a panic while it is submitted", next, 10)
}
