package exec

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
)

// translate fills in the device's step. Only rows that are opened allocate.
func (f *flight) translate(b *messages.RunBatch, vocab int) error {
	s := &f.step
	clear(s.Opened)
	f.pages = f.pages[:0]
	s.Closed, s.Opened, s.Replaced, s.Grown, s.Work = s.Closed[:0], s.Opened[:0], s.Replaced[:0], s.Grown[:0], s.Work[:0]
	for _, row := range b.Closed {
		s.Closed = append(s.Closed, gpu.Row(row))
	}
	for i := range b.Opened {
		o := &b.Opened[i]
		if err := checkOpened(o); err != nil {
			return fmt.Errorf("row %d: %w", o.Row, err)
		}
		p := o.Request.Params
		s.Opened = append(s.Opened, gpu.RowOpened{Row: gpu.Row(o.Row), Prompt: o.Request.Prompt, Output: o.Output,
			Pages: f.table(o.Pages), Sampling: sampling(p, vocab), Score: score(o.Request)})
	}
	for i := range b.Replaced {
		r := &b.Replaced[i]
		s.Replaced = append(s.Replaced, gpu.RowReplaced{Row: gpu.Row(r.Row), First: r.First, Pages: f.table(r.Pages)})
	}
	for i := range b.Grown {
		g := &b.Grown[i]
		s.Grown = append(s.Grown, gpu.RowGrown{Row: gpu.Row(g.Row), Pages: f.table(g.Pages)})
	}
	for i := range b.Work {
		w := &b.Work[i]
		s.Work = append(s.Work, gpu.RowWork{Row: gpu.Row(w.Row), Start: w.Start, Count: w.Count, Sample: w.Sample})
	}
	return nil
}

// constrain gives the rows with a grammar their masks.
func (e *Executor) constrain(f *flight) {
	b := f.batch
	for _, row := range b.Closed {
		if c := e.constrained[row]; c != nil {
			c.closed.Store(true)
			delete(e.constrained, row)
		}
	}
	for i := range b.Opened {
		if o := &b.Opened[i]; o.Request.Params.Grammar != nil {
			e.constrained[o.Row] = e.constraints.open(o.Request, o.Output, e.ready)
		}
	}
	f.constraints = f.constraints[:0]
	room := e.room(b)
	for i := range b.Work {
		c := e.constrained[b.Work[i].Row]
		if b.Work[i].Sample == 0 {
			c = nil
		}
		if f.constraints = append(f.constraints, c); c != nil {
			w := &f.step.Work[i]
			w.Mask, w.Sample = &c.mask, 1
			room -= c.force(w, min(b.Work[i].Sample-1, room))
		}
	}
}

// room is how many tokens that are certain a step has room for.
func (e *Executor) room(b *messages.RunBatch) int {
	if e.opt.StepTokens == 0 {
		return math.MaxInt
	}
	return max(0, e.opt.StepTokens-b.Tokens())
}

func (f *flight) table(pages []messages.Page) []int32 {
	from := len(f.pages)
	for _, p := range pages {
		f.pages = append(f.pages, int32(p))
	}
	return f.pages[from:len(f.pages):len(f.pages)]
}

func checkOpened(o *messages.RowOpened) error {
	if o.Request == nil || o.Request.Params == nil {
		return errors.New("opened without a request or its sampling parameters")
	}
	if prior := o.Request.Output; len(o.Output) < len(prior) || !slices.Equal(o.Output[:len(prior)], prior) {
		return fmt.Errorf("the output of request %d does not begin with the output that it was submitted with", o.Request.ID)
	}
	return nil
}

func sampling(p *messages.SamplingParams, vocab int) gpu.Sampling {
	s := gpu.Sampling{
		Temperature: p.Temperature, TopP: p.TopP, MinP: p.MinP, TopK: p.TopK,
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, RepetitionPenalty: p.RepetitionPenalty,
		MinTokens: p.MinTokens, Seed: p.Seed, Choice: p.Choice, TopLogprobs: p.TopLogprobs,
	}
	for _, b := range p.LogitBias {
		s.Bias = append(s.Bias, gpu.TokenBias(b))
	}
	if p.Grammar != nil {
		s.MinTokens = 0 // the masks have it
		return s
	}
	for _, id := range p.MaskedEnds() {
		if id >= 0 && int(id) < vocab { // a stop token that the model does not have ends nothing
			s.EndTokens = append(s.EndTokens, id)
		}
	}
	return s
}

// score requests the log probabilities of the prompt. For a request that was
// submitted with output they were reported before.
func score(r *messages.EngineRequest) gpu.ScoreSpec {
	if p := r.Params; p.PromptLogprobs >= 0 && len(r.Output) == 0 {
		return gpu.ScoreSpec{From: max(1, p.PromptLogprobStart), To: len(r.Prompt), Top: p.PromptLogprobs}
	}
	return gpu.ScoreSpec{}
}
