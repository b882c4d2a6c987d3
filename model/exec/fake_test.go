package exec_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
)

// recorder is a gpu.Model that computes nothing: answer returns the result of a
// step, complete decides when.
type recorder struct {
	gpu.Model
	answer func(*gpu.StepBatch) (*gpu.StepResult, error)
	manual bool // completes when the test calls complete
	done   []func()
	quiet  []func()
}

func (m *recorder) Submit(b *gpu.StepBatch, done func(*gpu.StepResult, error)) {
	m.done = append(m.done, func() { done(m.answer(b)) })
	if !m.manual {
		m.complete()
	}
}

// complete ends the oldest step.
func (m *recorder) complete() {
	done := m.done[0]
	m.done = m.done[1:]
	done()
}

func (m *recorder) Quiesce(done func()) { m.quiet = append(m.quiet, done); done() }

// constant answers all sampling with one token.
func constant(token int32) func(*gpu.StepBatch) (*gpu.StepResult, error) {
	return func(b *gpu.StepBatch) (*gpu.StepResult, error) {
		r := &gpu.StepResult{Rows: make([]gpu.RowResult, len(b.Work))}
		for i, w := range b.Work {
			if w.Sample > 0 {
				r.Rows[i].Tokens = []int32{token}
			}
		}
		return r, nil
	}
}

const vocab = 50

func fake(t testing.TB, answer func(*gpu.StepBatch) (*gpu.StepResult, error)) (*driver, *recorder) {
	m := &recorder{answer: answer}
	return &driver{t: t, e: exec.New(m, exec.Options{Vocab: vocab})}, m
}

func pages(p ...messages.Page) []messages.Page { return p }

// opened is a legal first step: row 0 with six tokens, of which four are cached.
func opened(change func(o *messages.RowOpened)) []messages.RowOpened {
	o := messages.RowOpened{Row: 0, Pages: pages(1), Request: &messages.EngineRequest{ID: 9, Prompt: []int32{1, 2, 3, 4, 5, 6}, Params: params(nil)}}
	if change != nil {
		change(&o)
	}
	return []messages.RowOpened{o}
}

// first is a legal step that leaves row 0 with seven tokens, six computed.
func first() *messages.RunBatch {
	return &messages.RunBatch{Opened: opened(nil), Grown: []messages.RowGrown{{Row: 0, Pages: pages(2)}},
		Work: []messages.RowWork{{Row: 0, Start: 4, Count: 2, Sample: 1}}}
}
