package fakemodel

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// plain are parameters with everything switched off.
func plain(maxTokens int) *messages.SamplingParams {
	return &messages.SamplingParams{Temperature: 1, TopP: 1, RepetitionPenalty: 1, Seed: 7,
		MaxTokens: maxTokens, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
}

// prompt makes n tokens that depend on a salt.
func prompt(n, salt, vocab int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(mix(uint64(i), uint64(salt)) % uint64(vocab))
	}
	return out
}

// driver is the smallest batch former: it submits one step at a time.
type driver struct {
	t    testing.TB
	e    *Executor
	step messages.StepID
}

// try submits a step and returns what came back; the executor is synchronous.
func (d *driver) try(b *messages.RunBatch) (*messages.BatchDone, error) {
	d.step++
	b.Epoch, b.Step = 1, d.step
	calls := 0
	var done *messages.BatchDone
	var err error
	d.e.Submit(b, func(r *messages.BatchDone, e error) { calls, done, err = calls+1, r, e })
	if calls != 1 {
		d.t.Fatalf("callback was called %d times", calls)
	}
	return done, err
}

func (d *driver) must(b *messages.RunBatch) *messages.BatchDone {
	d.t.Helper()
	done, err := d.try(b)
	if err != nil {
		d.t.Fatal(err)
	}
	return done
}

// pages is the range of pages [first, first+n).
func pages(first, n int) []messages.Page {
	out := make([]messages.Page, n)
	for i := range out {
		out[i] = messages.Page(first + i)
	}
	return out
}

// generate runs one request alone to the end of n tokens in one row.
func (d *driver) generate(id messages.Row, req *messages.EngineRequest, first, n, chunk int) []int32 {
	d.t.Helper()
	total := req.Len() + n
	ps := d.e.opt.PageSize
	b := &messages.RunBatch{
		Opened: []messages.RowOpened{{Row: id, Request: req, Output: req.Output}},
		Grown:  []messages.RowGrown{{Row: id, Pages: pages(first, (total+ps-1)/ps)}},
	}
	var out []int32
	for start, known := 0, req.Len(); len(out) < n; {
		count := min(chunk, known-start)
		sample := 0
		if start+count == known {
			sample = 1
			if most := d.e.opt.TokensPerStep; most > 1 {
				sample = min(most, n-len(out))
			}
		}
		b.Work = []messages.RowWork{{Row: id, Start: start, Count: count, Sample: sample}}
		done := d.must(b)
		b = &messages.RunBatch{}
		start += count
		for i, s := range done.Sampled {
			out = append(out, s.Token)
			known++
			start += min(i, 1) // of all but the last the KV is there
		}
	}
	return out
}
