package exec_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
)

// recorder is a gpu.Model that computes nothing: answer decides what a step
// gives, and complete when.
type recorder struct {
	answer func(*gpu.StepBatch) (*gpu.StepResult, error)
	manual bool // completes when the test says so
	done   func()
	quiet  []func()
}

func (m *recorder) NewPool(gpu.PoolSpec) error       { return nil }
func (m *recorder) CopyPages(src, dst []int32) error { return nil }
func (m *recorder) Bytes() map[string]int64          { return nil }
func (m *recorder) Close() error                     { return nil }

func (m *recorder) Submit(b *gpu.StepBatch, done func(*gpu.StepResult, error)) {
	m.done = func() { m.done = nil; done(m.answer(b)) }
	if !m.manual {
		m.done()
	}
}

func (m *recorder) Quiesce(done func()) { m.quiet = append(m.quiet, done); done() }

// constant answers every draw with one token and every score with zeros.
func constant(token int32) func(*gpu.StepBatch) (*gpu.StepResult, error) {
	return func(b *gpu.StepBatch) (*gpu.StepResult, error) {
		r := &gpu.StepResult{Sequences: make([]gpu.SequenceResult, len(b.Sequences))}
		for i, s := range b.Sequences {
			r.Sequences[i].Token = -1
			if s.Sample != nil {
				r.Sequences[i].Token = token
			}
			if s.Score != nil {
				r.Sequences[i].Scores = make([]gpu.Scored, len(s.Score.Targets))
			}
		}
		return r, nil
	}
}

var small = exec.Options{MaxRows: 4, PageSize: 4, Pages: 100, Context: 64, Vocab: 50}

func fake(t testing.TB, answer func(*gpu.StepBatch) (*gpu.StepResult, error)) (*driver, *recorder) {
	m := &recorder{answer: answer}
	return &driver{t: t, e: exec.New(m, small), opt: small}, m
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
