package exec

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
)

// build applies a step's deltas and fills e.gpu.
func (e *Executor) build(b *messages.RunBatch) error {
	if e.epoch == 0 {
		e.epoch = b.Epoch
	}
	if b.Epoch != e.epoch {
		return fmt.Errorf("the rows are of epoch %d; Reset comes first", e.epoch)
	}
	if b.Step != e.step+1 {
		return fmt.Errorf("the last step was %d", e.step)
	}
	e.step = b.Step
	if err := e.apply(b); err != nil {
		return err
	}
	if len(b.Work) == 0 {
		return errors.New("no work")
	}
	e.gpu.Sequences = e.gpu.Sequences[:0]
	for i := range b.Work {
		w := &b.Work[i]
		r, err := e.open(w.Row, "given work")
		if err != nil {
			return err
		}
		if err := e.checkWork(w, r); err != nil {
			return fmt.Errorf("row %d %w", w.Row, err)
		}
		r.worked = b.Step
		s := gpu.Sequence{Pages: r.pages, Tokens: r.tokens[w.Start : w.Start+w.Count], Start: w.Start}
		s.Score = r.score(w)
		if w.Sample {
			s.Sample = r.sample()
		}
		e.gpu.Sequences = append(e.gpu.Sequences, s)
	}
	return nil
}

// checkWork refuses work that no correct plan contains.
func (e *Executor) checkWork(w *messages.RowWork, r *row) error {
	end := w.Start + w.Count
	switch {
	case r.worked == e.step:
		return errors.New("has work twice")
	case w.Count < 1 || w.Count > len(r.tokens):
		return fmt.Errorf("computes %d of %d known tokens", w.Count, len(r.tokens))
	case w.Start != r.computed:
		return fmt.Errorf("computes positions %d to %d, but has the KV of the first %d", w.Start, end-1, r.computed)
	case end > len(r.tokens):
		return fmt.Errorf("computes positions %d to %d of %d known tokens", w.Start, end-1, len(r.tokens))
	case end > len(r.pages)*e.opt.PageSize:
		return fmt.Errorf("computes positions %d to %d, but its %d pages hold %d", w.Start, end-1, len(r.pages), len(r.pages)*e.opt.PageSize)
	case end > e.opt.Context:
		return fmt.Errorf("computes positions %d to %d, but the context is %d", w.Start, end-1, e.opt.Context)
	case w.Sample && end != len(r.tokens):
		return fmt.Errorf("samples after position %d, but has %d tokens", end-1, len(r.tokens))
	}
	return nil
}

// take checks a device's result, moves the rows on and words the answer.
func (e *Executor) take(result *gpu.StepResult) (*messages.BatchDone, error) {
	work := e.batch.Work
	if result == nil || len(result.Sequences) != len(work) {
		return nil, errors.New("executor: the device did not answer for every sequence of the step")
	}
	done := e.answers.next(e.batch)
	for i := range work {
		w, s := &work[i], &result.Sequences[i]
		r := &e.rows[w.Row]
		r.computed = w.Start + w.Count
		if score := e.gpu.Sequences[i].Score; score != nil {
			if len(s.Scores) != len(score.Targets) {
				return nil, fmt.Errorf("executor: the device scored %d tokens of row %d, not %d", len(s.Scores), w.Row, len(score.Targets))
			}
			done.Prompts = append(done.Prompts, messages.PromptLogprobs{Row: w.Row, First: score.From + 1, Logprobs: positions(s.Scores)})
		}
		if !w.Sample {
			continue
		}
		if s.Token < 0 || int(s.Token) >= e.opt.Vocab {
			return nil, fmt.Errorf("executor: the device drew token %d for row %d, outside the vocabulary of %d", s.Token, w.Row, e.opt.Vocab)
		}
		r.tokens = append(r.tokens, s.Token)
		r.history.sampled(s.Token)
		t := messages.SampledToken{Row: w.Row, Token: s.Token}
		if s.Chosen != nil {
			p := position(s.Chosen)
			t.Logprobs = &p
		}
		done.Sampled = append(done.Sampled, t)
	}
	return done, nil
}

// answers are two BatchDone that are used in turns: the batch former has taken a
// step's before it launches the one after the next.
type answers struct {
	done [2]messages.BatchDone
	last int
}

// next empties the older one for a step.
func (a *answers) next(b *messages.RunBatch) *messages.BatchDone {
	a.last = 1 - a.last
	d := &a.done[a.last]
	clear(d.Sampled)
	clear(d.Prompts)
	*d = messages.BatchDone{Header: b.Header, Step: b.Step, Sampled: d.Sampled[:0], Prompts: d.Prompts[:0]}
	return d
}

func positions(scores []gpu.Scored) []messages.PositionLogprobs {
	out := make([]messages.PositionLogprobs, len(scores))
	for i := range scores {
		out[i] = position(&scores[i])
	}
	return out
}

func position(s *gpu.Scored) messages.PositionLogprobs {
	p := messages.PositionLogprobs{Chosen: messages.TokenLogprob{Token: s.Token, Logprob: s.Logprob}}
	if len(s.Top) > 0 {
		p.Top = make([]messages.TokenLogprob, len(s.Top))
		for i, t := range s.Top {
			p.Top[i] = messages.TokenLogprob{Token: t.Token, Logprob: t.Logprob}
		}
	}
	return p
}
