package gputest

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// Part is what one row does in a step.
type Part struct {
	Open *gpu.RowOpened // opens the row first; nil: it is open
	Grow []int32        // pages that are added to it
	gpu.RowWork
}

// Plain is greedy sampling with everything else off.
func Plain() gpu.Sampling {
	return gpu.Sampling{TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}
}

// Whole opens a row with tokens and computes all of them, on its pages.
func Whole(tokens, pages []int32) Part {
	return Part{Open: &gpu.RowOpened{Prompt: tokens, Sampling: Plain()}, Grow: pages, RowWork: gpu.RowWork{Count: len(tokens)}}
}

// Last opens a row whose tokens but the last are cached and computes that one.
// The pages hold one token each.
func Last(prompt, output, pages []int32, sampling gpu.Sampling) Part {
	n := len(prompt) + len(output) - 1
	return Part{Open: &gpu.RowOpened{Prompt: prompt, Output: output, Pages: pages[:n], Sampling: sampling},
		Grow: pages[n:], RowWork: gpu.RowWork{Start: n, Count: 1}}
}

// Batch makes a step of parts.
func Batch(parts ...Part) *gpu.StepBatch {
	b := &gpu.StepBatch{}
	for _, p := range parts {
		if p.Open != nil {
			o := *p.Open
			o.Row = p.Row
			b.Opened = append(b.Opened, o)
		}
		if len(p.Grow) > 0 {
			b.Grown = append(b.Grown, gpu.RowGrown{Row: p.Row, Pages: p.Grow})
		}
		b.Work = append(b.Work, p.RowWork)
	}
	return b
}

// Step runs parts of open or new rows and waits for the results.
func Step(m gpu.Model, parts ...Part) ([]gpu.RowResult, error) { return Run(m, Batch(parts...)) }

// Fresh is Step with all other rows closed: the parts are rows 0, 1, … in their
// order, each of which must open its row.
func Fresh(m gpu.Model, parts ...Part) ([]gpu.RowResult, error) { return Run(m, FreshBatch(parts...)) }

// FreshBatch is the step of Fresh.
func FreshBatch(parts ...Part) *gpu.StepBatch {
	numbered := slices.Clone(parts)
	for i := range numbered {
		numbered[i].Row = gpu.Row(i)
	}
	b := Batch(numbered...)
	b.Reset = true
	return b
}

// ended is what a step's done was called with; the results are a copy.
type ended struct {
	rows []gpu.RowResult
	err  error
}

// submit starts a step; the result comes on the channel.
func submit(m gpu.Model, b *gpu.StepBatch) <-chan ended {
	c := make(chan ended, 1)
	m.Submit(b, func(r *gpu.StepResult, err error) {
		e := ended{err: err}
		if err == nil {
			e.rows = slices.Clone(r.Rows) // the device's again after done
			for i := range e.rows {
				e.rows[i].Tokens = slices.Clone(e.rows[i].Tokens)
			}
			if len(e.rows) != len(b.Work) {
				e.err = fmt.Errorf("%d results for the work of %d rows", len(e.rows), len(b.Work))
			}
		}
		c <- e
	})
	return c
}

// Run runs a step to its end.
func Run(m gpu.Model, b *gpu.StepBatch) ([]gpu.RowResult, error) {
	e := <-submit(m, b)
	return e.rows, e.err
}
