package exec

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
)

// take checks a device's result and makes the answer of it.
func (e *Executor) take(f *flight, result *gpu.StepResult) (*messages.BatchDone, error) {
	b := f.batch
	if result == nil || len(result.Rows) != len(b.Work) {
		return nil, errors.New("executor: the device returned no result for some rows of the step")
	}
	done := e.answers.next(b)
	for i := range b.Work {
		w, r := &b.Work[i], &result.Rows[i]
		if len(r.Scores) > 0 {
			done.Prompts = append(done.Prompts, messages.PromptLogprobs{Row: w.Row, First: r.ScoredFrom, Logprobs: positions(r.Scores)})
		}
		if r.Err != nil {
			done.Failed = append(done.Failed, rowFailed(w.Row, r.Err))
			continue
		}
		c := f.constraints[i]
		if r.Late && c != nil && len(r.Tokens) == 0 {
			done.Late = append(done.Late, w.Row)
			continue
		}
		forced := f.step.Work[i].Forced
		if n := len(r.Tokens); n > w.Sample-len(forced) || n == 0 && w.Sample > 0 {
			return nil, fmt.Errorf("executor: the device sampled %d tokens for row %d; expected %d", n, w.Row, w.Sample-len(forced))
		}
		for _, token := range forced {
			done.Sampled = append(done.Sampled, messages.SampledToken{Row: w.Row, Token: token})
		}
		done.Forced += len(forced)
		for j, token := range r.Tokens {
			if token < 0 || int(token) >= e.opt.Vocab {
				return nil, fmt.Errorf("executor: the device sampled token %d for row %d, outside the vocabulary of %d", token, w.Row, e.opt.Vocab)
			}
			t := messages.SampledToken{Row: w.Row, Token: token}
			if j < len(r.Logprobs) {
				p := position(&r.Logprobs[j])
				t.Logprobs = &p
			}
			done.Sampled = append(done.Sampled, t)
		}
		if c != nil {
			e.constraints.sampled(c, append(forced[:len(forced):len(forced)], r.Tokens...))
		}
	}
	return done, nil
}

func rowFailed(row messages.Row, err error) messages.RowFailed {
	f := messages.RowFailed{Row: row, Reason: err.Error(), End: messages.EndFailed}
	if e, is := errors.AsType[*maskError](err); is {
		f.End = e.end
	}
	return f
}

// answers are two BatchDone that are used in turns: the scheduler has taken a
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
	*d = messages.BatchDone{Header: b.Header, Step: b.Step, Sampled: d.Sampled[:0], Failed: d.Failed[:0], Late: d.Late[:0], Prompts: d.Prompts[:0]}
	return d
}

func positions(scores []gpu.Logprobs) []messages.PositionLogprobs {
	out := make([]messages.PositionLogprobs, len(scores))
	for i := range scores {
		out[i] = position(&scores[i])
	}
	return out
}

func position(s *gpu.Logprobs) messages.PositionLogprobs {
	p := messages.PositionLogprobs{Chosen: messages.TokenLogprob(s.Chosen)}
	if len(s.Top) > 0 {
		p.Top = make([]messages.TokenLogprob, len(s.Top))
		for i, t := range s.Top {
			p.Top[i] = messages.TokenLogprob(t)
		}
	}
	return p
}
