package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/gpu"
)

// StepOptions are what bare steps need to know of a model.
type StepOptions struct {
	Program *gpu.Program
	Pool    gpu.PoolSpec // its Pages are set by what the tests need
	Chunk   int          // tokens of a prompt that a step computes at most, at least 1
	Seed    uint64
	Tests   []Test
}

// Steps does tests by steps of a model, without an engine.
type Steps struct {
	model   gpu.Model
	opt     StepOptions
	prompts prompts
	tables  [][]int32 // of pages, by sequence
	filled  []int     // positions of each sequence that hold its base
	ended   chan stepEnd
}

type stepEnd struct {
	result *gpu.StepResult
	err    error
}

// NewSteps makes the KV pool.
func NewSteps(m gpu.Model, o StepOptions) (*Steps, error) {
	s := &Steps{model: m, opt: o, prompts: prompts{o.Seed, o.Program.Vocab}, ended: make(chan stepEnd, 1)}
	sequences := 0
	for _, t := range o.Tests {
		sequences = max(sequences, t.Batch)
		if t.Positions() > o.Program.Context {
			return nil, fmt.Errorf("test %s needs a context of %d tokens, the model has %d; give a lower --depth, --prompt or --generate, or a greater --context-length", t, t.Positions(), o.Program.Context)
		}
	}
	pages := 0
	each := make([]int, sequences)
	for _, t := range o.Tests {
		n := (t.Positions() + o.Pool.PageSize - 1) / o.Pool.PageSize
		for i := range t.Batch {
			each[i] = max(each[i], n)
		}
	}
	for _, n := range each {
		table := make([]int32, n)
		for j := range table {
			pages++
			table[j] = int32(pages)
		}
		s.tables = append(s.tables, table)
	}
	s.filled = make([]int, sequences)
	spec := o.Pool
	spec.Pages = pages
	return s, m.NewPool(spec)
}

// Prepare implements Subject.
func (s *Steps) Prepare(ctx context.Context, t Test) error {
	for i := range t.Batch {
		if s.filled[i] >= t.Depth {
			continue
		}
		if _, _, err := s.compute(ctx, i, s.prompts.base(i, t.Depth), 0, false); err != nil {
			return err
		}
		s.filled[i] = t.Depth
	}
	return nil
}

// Once implements Subject.
func (s *Steps) Once(ctx context.Context, t Test, repetition int) (Sample, error) {
	for i := range t.Batch {
		s.filled[i] = min(s.filled[i], t.Depth)
	}
	if t.Prompt > 0 {
		prompt := s.prompts.fresh(t, repetition)
		start := time.Now()
		steps, read, err := s.compute(ctx, 0, prompt, t.Depth, true)
		return Sample{Tokens: t.Prompt, Took: time.Since(start), Steps: steps, Positions: read}, err
	}
	return s.generate(ctx, t)
}

// compute runs a prompt in chunks from a position on, and draws at its end.
func (s *Steps) compute(ctx context.Context, sequence int, prompt []int32, start int, draw bool) (steps int, read int64, err error) {
	for done := 0; done < len(prompt); {
		n := min(s.opt.Chunk, len(prompt)-done)
		q := gpu.Sequence{Pages: s.tables[sequence], Tokens: prompt[done : done+n], Start: start + done}
		if done += n; draw && done == len(prompt) {
			q.Sample = likeliest()
		}
		if _, err := s.step(ctx, &gpu.StepBatch{Sequences: []gpu.Sequence{q}}); err != nil {
			return 0, 0, err
		}
	}
	steps, read = positions(start, len(prompt), s.opt.Chunk)
	return steps, read, nil
}

// likeliest draws greedily.
func likeliest() *gpu.SampleSpec {
	return &gpu.SampleSpec{TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}
}

// generate feeds every sequence its own tokens.
func (s *Steps) generate(ctx context.Context, t Test) (Sample, error) {
	batch := &gpu.StepBatch{}
	for i := range t.Batch {
		next := s.prompts.base(i, t.Depth+1)[t.Depth:]
		batch.Sequences = append(batch.Sequences, gpu.Sequence{Pages: s.tables[i], Tokens: next, Start: t.Depth, Sample: likeliest()})
	}
	start := time.Now()
	for range t.Generate {
		r, err := s.step(ctx, batch)
		if err != nil {
			return Sample{}, err
		}
		for i := range batch.Sequences {
			q := &batch.Sequences[i]
			q.Tokens[0] = r.Sequences[i].Token
			q.Start++
		}
	}
	return Sample{Tokens: t.Tokens(), Took: time.Since(start), Steps: t.Generate, Positions: decoded(t.Depth, t.Generate, t.Batch)}, nil
}

// step runs one step; a step under way when ctx ends is waited for.
func (s *Steps) step(ctx context.Context, b *gpu.StepBatch) (*gpu.StepResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.model.Submit(b, func(r *gpu.StepResult, err error) { s.ended <- stepEnd{r, err} })
	end := <-s.ended
	return end.result, end.err
}
