package bench

import (
	"context"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/internal/paging"
)

type StepOptions struct {
	Program *gpu.Program
	Pool    gpu.PoolSpec // Pages and the limits are set by what the tests need
	Chunk   int          // tokens of a prompt that a step computes at most, at least 1
	Seed    uint64
	Tests   []Test
}

// Steps runs tests by steps of a model without an engine. Sequence i of a test has row i.
type Steps struct {
	model   gpu.Model
	opt     StepOptions
	prompts Prompts
	tables  [][]int32 // of pages, by sequence
	filled  []int     // positions of each sequence that hold its base
	open    []bool    // rows
	ended   chan error
	done    func(*gpu.StepResult, error) // made once
}

// NewSteps makes the KV pool.
func NewSteps(m gpu.Model, o StepOptions) (*Steps, error) {
	s := &Steps{model: m, opt: o, prompts: Prompts{o.Seed, o.Program.Vocab}, ended: make(chan error, 1)}
	s.done = func(_ *gpu.StepResult, err error) { s.ended <- err }
	var each []int // pages of each sequence
	for _, t := range o.Tests {
		if err := t.fits(t.Positions(), o.Program.Context); err != nil {
			return nil, err
		}
		each = append(each, make([]int, max(t.Batch-len(each), 0))...)
		for i := range t.Batch {
			each[i] = max(each[i], paging.Pages(t.Positions(), o.Pool.PageSize))
		}
	}
	pages, sequences := 0, len(each)
	for _, n := range each {
		table := make([]int32, n)
		for j := range table {
			pages++
			table[j] = int32(pages)
		}
		s.tables = append(s.tables, table)
	}
	s.filled, s.open = make([]int, sequences), make([]bool, sequences)
	spec := o.Pool
	spec.Pages, spec.Rows, spec.Context = pages, max(1, sequences), o.Program.Context
	spec.StepTokens = max(o.Chunk, o.Pool.PageSize*sequences, sequences)
	return s, m.NewPool(spec)
}

func (s *Steps) Prepare(ctx context.Context, t Test) error {
	for i := range t.Batch {
		if s.filled[i] >= t.Depth {
			continue
		}
		s.filled[i] = 0
		base := s.prompts.Base(i, t.Depth)
		b := &gpu.StepBatch{}
		s.begin(b, i, base, 0)
		if _, _, err := s.compute(ctx, b, i, len(base), 0, false); err != nil {
			return err
		}
		s.filled[i] = t.Depth
	}
	return nil
}

func (s *Steps) Once(ctx context.Context, t Test, repetition int) (Sample, error) {
	for i := range t.Batch {
		s.filled[i] = min(s.filled[i], t.Depth)
	}
	if t.Prompt > 0 {
		tokens := append(s.prompts.Base(0, t.Depth), s.prompts.fresh(t, repetition)...)
		if err := s.resume(ctx, t, func(int) []int32 { return tokens }); err != nil {
			return Sample{}, err
		}
		start := time.Now()
		steps, read, err := s.compute(ctx, &gpu.StepBatch{}, 0, t.Prompt, t.Depth, true)
		return Sample{Tokens: t.Prompt, Took: time.Since(start), Steps: steps, Positions: read}, err
	}
	return s.generate(ctx, t)
}

// begin opens a row with tokens, some of them cached.
func (s *Steps) begin(b *gpu.StepBatch, sequence int, tokens []int32, cached int) {
	row, table := gpu.Row(sequence), s.tables[sequence]
	if s.open[sequence] {
		b.Closed = append(b.Closed, row)
	}
	s.open[sequence] = true
	n := cached / s.opt.Pool.PageSize
	b.Opened = append(b.Opened, gpu.RowOpened{Row: row, Prompt: tokens, Pages: table[:n],
		Sampling: gpu.Sampling{TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}}) // greedy
	b.Grown = append(b.Grown, gpu.RowGrown{Row: row, Pages: table[n:]})
}

// resume opens the rows of a test's sequences after their bases. Whole pages of the
// bases are cached; the rest is computed again, outside the timed part.
func (s *Steps) resume(ctx context.Context, t Test, tokens func(sequence int) []int32) error {
	b, cached := &gpu.StepBatch{}, t.Depth/s.opt.Pool.PageSize*s.opt.Pool.PageSize
	for i := range t.Batch {
		s.begin(b, i, tokens(i), cached)
		if cached < t.Depth {
			b.Work = append(b.Work, gpu.RowWork{Row: gpu.Row(i), Start: cached, Count: t.Depth - cached})
		}
	}
	return s.step(ctx, b)
}

// compute runs tokens of a row in chunks from a position on, and samples at their end. The
// first step is b.
func (s *Steps) compute(ctx context.Context, b *gpu.StepBatch, sequence, tokens, start int, sample bool) (steps int, read int64, err error) {
	for done := 0; done < tokens; {
		w := gpu.RowWork{Row: gpu.Row(sequence), Start: start + done, Count: min(s.opt.Chunk, tokens-done)}
		if done += w.Count; sample && done == tokens {
			w.Sample = 1
		}
		b.Work = append(b.Work, w)
		if err := s.step(ctx, b); err != nil {
			return 0, 0, err
		}
		b = &gpu.StepBatch{}
	}
	steps, read = positions(start, tokens, s.opt.Chunk)
	return steps, read, nil
}

// generate continues every sequence with the tokens that it samples.
func (s *Steps) generate(ctx context.Context, t Test) (Sample, error) {
	if err := s.resume(ctx, t, func(i int) []int32 { return s.prompts.Base(i, t.Depth+1) }); err != nil {
		return Sample{}, err
	}
	b := &gpu.StepBatch{}
	for i := range t.Batch {
		b.Work = append(b.Work, gpu.RowWork{Row: gpu.Row(i), Start: t.Depth, Count: 1, Sample: 1})
	}
	start := time.Now()
	for range t.Generate {
		if err := s.step(ctx, b); err != nil {
			return Sample{}, err
		}
		for i := range b.Work {
			b.Work[i].Start++
		}
	}
	return Sample{Tokens: t.Tokens(), Took: time.Since(start), Steps: t.Generate, Positions: Decoded(t.Depth, t.Generate, t.Batch)}, nil
}

// step runs one step; a step in flight when ctx ends is waited for.
func (s *Steps) step(ctx context.Context, b *gpu.StepBatch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.model.Submit(b, s.done)
	return <-s.ended
}
