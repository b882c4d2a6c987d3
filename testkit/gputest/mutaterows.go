package gputest

import (
	"slices"
	"sync"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/gpu/rows"
)

// RowMutants are devices with defects in what a row's step depends on: gpu/ref
// with changed sequences.
func RowMutants() []Mutant {
	var list []Mutant
	for name, change := range map[string]func(*rows.Sample){
		"sampled at another position": func(s *rows.Sample) { s.Position++ },
		"half of the history lost":    func(s *rows.Sample) { s.History = s.History[len(s.History)/2:] },
		"history of the prompt lost":  func(s *rows.Sample) { s.History = slices.DeleteFunc(slices.Clone(s.History), inPromptOnly) },
		"end tokens ignored":          func(s *rows.Sample) { s.Mask = nil },
		"grammar ignored":             func(s *rows.Sample) { s.Grammar = nil },
	} {
		list = append(list, Mutant{Name: name, Device: &ref.Device{Alter: func(sequences []rows.Sequence) {
			for i := range sequences {
				if s := sequences[i].Sample; s != nil {
					change(s)
				}
			}
		}}})
	}
	s := &stale{last: map[gpu.Row]int32{}}
	return append(list, Mutant{Name: "a stale token computed beside a step", Checks: "steps in flight", Device: &ref.Device{Alter: s.alter},
		wrap: func(m gpu.Model) gpu.Model { return &staleModel{m, s} }})
}

func inPromptOnly(c rows.TokenCount) bool { return c.InPrompt && c.Output == 0 }

// stale makes the mistake that two steps in flight invite: a step that was
// submitted while another one ran computes the token that its row had computed
// before, since the new one is not known at the time.
type stale struct {
	mu       sync.Mutex
	inFlight int
	beside   []bool            // by step in flight: it was submitted beside another
	last     map[gpu.Row]int32 // the token that a row computed last
}

func (s *stale) alter(sequences []rows.Sequence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range sequences {
		q := &sequences[i]
		if old, has := s.last[q.Row]; has && s.beside[0] && len(q.Tokens) == 1 {
			q.Tokens = []int32{old}
		}
		s.last[q.Row] = q.Tokens[len(q.Tokens)-1]
	}
}

type staleModel struct {
	gpu.Model
	of *stale
}

// Submit implements gpu.Model.
func (m *staleModel) Submit(b *gpu.StepBatch, done func(*gpu.StepResult, error)) {
	s := m.of
	s.mu.Lock()
	s.beside = append(s.beside, s.inFlight > 0)
	s.inFlight++
	s.mu.Unlock()
	m.Model.Submit(b, func(r *gpu.StepResult, err error) {
		s.mu.Lock()
		s.inFlight--
		s.beside = s.beside[1:]
		s.mu.Unlock()
		done(r, err)
	})
}
