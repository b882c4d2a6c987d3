package rows

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// Table holds the rows of a pool. Construct it with New.
type Table struct {
	vocab int
	spec  gpu.PoolSpec
	rows  []row  // [spec.Rows]
	steps uint64 // begun
	// failed is why no step runs before one with Reset. It is set while a step runs, so
	// it stays set if the step panics.
	failed error

	// Of the step that runs; reused.
	sequences []Sequence
	result    gpu.StepResult
	sampled   []int32 // memory of the results' Tokens
}

// row is one entry. Its slices are reused for its next sequence.
type row struct {
	open     bool
	prompt   int     // tokens of the prompt
	tokens   []int32 // prompt, output, sampled
	pages    []int32 // page table
	computed int     // positions [0, computed) have their KV in the pages
	worked   uint64  // the last step with work for the row
	err      error   // why it computes nothing until it is closed

	sampling gpu.Sampling
	score    gpu.ScoreSpec
	history  history
	sample   Sample
}

// New makes a table of closed rows. spec must be checked.
func New(p *gpu.Program, spec gpu.PoolSpec) *Table {
	return &Table{vocab: p.Vocab, spec: spec, rows: make([]row, spec.Rows)}
}

var errUnfinished = errors.New("the step has no result")

// Run runs a step: it applies the changes, lets compute fill in the sequences' results,
// and adds what was sampled to the rows. After an error only a step with Reset runs. A nil
// table is that of a model without a KV pool.
func (t *Table) Run(b *gpu.StepBatch, compute func([]Sequence) error) (*gpu.StepResult, error) {
	if t == nil {
		return nil, errors.New("step: there is no KV pool")
	}
	if b.Reset {
		for i := range t.rows {
			t.rows[i].close()
		}
		t.failed = nil
	}
	if t.failed != nil {
		return nil, fmt.Errorf("step: an earlier step failed, and the rows were not reset after it: %w", t.failed)
	}
	t.failed = errUnfinished
	err := t.begin(b)
	if err == nil {
		err = compute(t.sequences)
	}
	if err == nil {
		err = t.end(b)
	}
	if err != nil {
		t.failed = err
		return nil, fmt.Errorf("step: %w", err)
	}
	t.failed = nil
	return &t.result, nil
}

// close keeps the row's memory for its next sequence.
func (r *row) close() {
	r.open, r.prompt, r.computed, r.worked, r.err = false, 0, 0, 0, nil
	r.tokens, r.pages = r.tokens[:0], r.pages[:0]
	r.sampling, r.score, r.sample = gpu.Sampling{}, gpu.ScoreSpec{}, Sample{}
	r.history.clear()
}

// begin applies a step's changes and lists its sequences.
func (t *Table) begin(b *gpu.StepBatch) error {
	t.steps++
	if err := t.apply(b); err != nil {
		return err
	}
	tokens, samples := 0, 0
	for i := range b.Work {
		w := &b.Work[i]
		r, err := t.find(w.Row, "used")
		if err != nil {
			return err
		}
		if r.worked == t.steps {
			return fmt.Errorf("row %d appears twice in the step", w.Row)
		}
		r.worked = t.steps
		if r.err != nil {
			continue
		}
		if err := t.checkWork(w, r); err != nil {
			return fmt.Errorf("row %d %w", w.Row, err)
		}
		if tokens += w.Count; tokens > t.spec.StepTokens {
			return fmt.Errorf("row %d: the step computes more than the %d tokens that the pool was made for", w.Row, t.spec.StepTokens)
		}
		samples += w.Sample
	}
	t.lay(b, samples)
	return nil
}

// lay lists the sequences of checked work, with space for their results.
func (t *Table) lay(b *gpu.StepBatch, samples int) {
	t.sequences = t.sequences[:0]
	clear(t.result.Rows)
	t.result.Rows = slices.Grow(t.result.Rows[:0], len(b.Work))[:len(b.Work)]
	t.sampled = slices.Grow(t.sampled[:0], samples)[:samples]
	room := t.sampled
	for i := range b.Work {
		w, out := &b.Work[i], &t.result.Rows[i]
		r := &t.rows[w.Row]
		if out.Err = r.err; r.err != nil {
			continue
		}
		end := w.Start + w.Count
		out.Tokens, room = room[:0:w.Sample], room[w.Sample:]
		s := Sequence{Row: w.Row, Pages: r.pages, Tokens: r.tokens[w.Start:end], Start: w.Start, KeepLogits: w.KeepLogits, Result: out}
		if w.Sample > 0 {
			s.Sample = r.next(w)
		}
		if from, to := max(r.score.From, w.Start+1), min(r.score.To, end+1); from < to {
			s.Score = Score{From: from - 1, Targets: r.tokens[from:to], Top: r.score.Top}
			out.ScoredFrom = from
		}
		t.sequences = append(t.sequences, s)
	}
}

// end adds what was sampled to the rows.
func (t *Table) end(b *gpu.StepBatch) error {
	for i := range b.Work {
		w, out := &b.Work[i], &t.result.Rows[i]
		r := &t.rows[w.Row]
		if r.err != nil {
			continue
		}
		r.computed, r.err = w.Start+w.Count, out.Err
		if w.Sample == 0 || r.err != nil {
			continue
		}
		if n := len(out.Tokens); n < 1 || n > w.Sample {
			return fmt.Errorf("row %d: the device sampled %d tokens; it must be between 1 and %d", w.Row, n, w.Sample)
		}
		r.computed += len(out.Tokens) - 1
		for _, token := range out.Tokens {
			r.tokens = append(r.tokens, token)
			r.history.sampled(token)
		}
	}
	return nil
}
