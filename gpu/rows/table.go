package rows

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// Unknown is a token that the step before samples, which has no end yet.
const Unknown int32 = -1

// Table holds the rows of a pool. Construct it with New.
type Table struct {
	vocab int
	spec  gpu.PoolSpec
	rows  []row // [spec.Rows]
	// begun and ended count steps. Those between have begun and have no end.
	begun, ended uint64
	// flights are by number of the step. A result stays as it is until the next step has
	// ended, while others begin.
	flights [gpu.StepsInFlight + 1]flight
	// failed is why no step begins before one with Reset. It is set while Run computes, so
	// it stays set if the device panics.
	failed   error
	failedAt uint64 // the step that failed; those behind it fail, too
}

// flight is a step between its begin and its end. Its memory is reused.
type flight struct {
	batch     *gpu.StepBatch
	sequences []Sequence
	rows      []uint64 // of each work, which opening of the row it is for
	failed    []error  // of each work, why its row failed in the step before; nil: no row did
	result    gpu.StepResult
	sampled   []int32 // memory of the results' Tokens
}

// flight is that of a step, counted from 0.
func (t *Table) flight(step uint64) *flight { return &t.flights[step%uint64(len(t.flights))] }

// row is one entry. Its slices are reused for its next sequence.
type row struct {
	open     bool
	prompt   int     // tokens of the prompt
	tokens   []int32 // prompt, output, sampled
	pages    []int32 // page table
	computed int     // positions [0, computed) have their KV in the pages
	opened   uint64  // how often the row was opened or closed
	worked   uint64  // the last step with work for the row
	asked    int     // tokens that it may sample
	masked   bool    // its mask may be late, so it may sample nothing
	unknown  bool    // the last of tokens is Unknown
	err      error   // why it computes nothing until it is closed

	sampling gpu.Sampling
	score    gpu.ScoreSpec
	history  history
	sample   Sample
}

// words is the length of a mask.
func (t *Table) words() int { return (t.vocab + 31) / 32 }

// New makes a table of closed rows. spec must be checked.
func New(p *gpu.Program, spec gpu.PoolSpec) *Table {
	return &Table{vocab: p.Vocab, spec: spec, rows: make([]row, spec.Rows)}
}

var errUnfinished = errors.New("the step has no result")

// Run runs a step: it applies the changes, lets compute fill in the sequences' results,
// and adds what was sampled to the rows. After an error only a step with Reset runs. A nil
// table is that of a model without a KV pool.
func (t *Table) Run(b *gpu.StepBatch, compute func([]Sequence) error) (*gpu.StepResult, error) {
	sequences, err := t.Begin(b)
	if err != nil {
		return nil, err
	}
	t.failed = errUnfinished
	err = compute(sequences)
	t.failed = nil
	return t.End(err)
}

// Waits reports whether a step cannot begin before all earlier ones have ended: it resets the
// rows, or how one of its tokens is sampled depends on a token that is not known yet.
func (t *Table) Waits(b *gpu.StepBatch) bool {
	if t == nil || t.begun == t.ended {
		return false
	}
	if b.Reset {
		return true
	}
	for i := range b.Work {
		w := &b.Work[i]
		if w.Sample == 0 || w.Row < 0 || int(w.Row) >= len(t.rows) {
			continue
		}
		r := &t.rows[w.Row]
		if r.worked == t.begun && (r.asked > 1 || r.asked == 1 && (r.history.on || r.masked || w.Mask != nil || len(w.Forced) > 0)) {
			return true
		}
	}
	return false
}

// Begin applies a step's changes and lists its sequences. The step before may have no end
// yet unless Waits says so; then tokens that it samples are Unknown. A device that begins
// steps so samples exactly one token where a row asks for one.
func (t *Table) Begin(b *gpu.StepBatch) ([]Sequence, error) {
	if t == nil {
		return nil, errors.New("there is no KV pool")
	}
	if b.Reset {
		for i := range t.rows {
			t.rows[i].close()
		}
		t.failed, t.ended = nil, t.begun
	}
	if t.failed != nil {
		return nil, fmt.Errorf("an earlier step failed, and the rows were not reset after it: %w", t.failed)
	}
	if t.begun-t.ended == gpu.StepsInFlight {
		return nil, fmt.Errorf("bug: %d steps have no end; please report this", gpu.StepsInFlight)
	}
	if err := t.begin(b); err != nil {
		t.failed, t.failedAt = err, t.begun+1
		return nil, err
	}
	return t.flight(t.begun - 1).sequences, nil
}

// End adds what the oldest step has sampled to the rows. err is why it was not computed. A
// step that fails takes the one behind it along. The result is valid until the next End.
func (t *Table) End(err error) (*gpu.StepResult, error) {
	f := t.flight(t.ended)
	t.ended++
	if err == nil {
		err = t.failedBefore()
	}
	if err == nil {
		err = t.end(f)
	}
	if err != nil {
		if t.failed == nil {
			t.failed, t.failedAt = err, t.ended
		}
		return nil, err
	}
	return &f.result, nil
}

// failedBefore is why the step that ends now has no result although it was computed.
func (t *Table) failedBefore() error {
	if t.failed == nil || t.failedAt >= t.ended {
		return nil
	}
	return fmt.Errorf("the step before it failed: %w", t.failed)
}

// close keeps the row's memory for its next sequence.
func (r *row) close() {
	r.open, r.prompt, r.computed, r.worked, r.asked, r.masked, r.unknown, r.err = false, 0, 0, 0, 0, false, false, nil
	r.opened++
	r.tokens, r.pages = r.tokens[:0], r.pages[:0]
	r.sampling, r.score, r.sample = gpu.Sampling{}, gpu.ScoreSpec{}, Sample{}
	r.history.clear()
}

// begin applies a step's changes and lists its sequences.
func (t *Table) begin(b *gpu.StepBatch) error {
	t.awaited()
	if err := t.apply(b); err != nil {
		return err
	}
	step, tokens, samples := t.begun+1, 0, 0
	for i := range b.Work {
		w := &b.Work[i]
		r, err := t.find(w.Row, "used")
		if err != nil {
			return err
		}
		if r.worked == step {
			return fmt.Errorf("row %d appears twice in the step", w.Row)
		}
		r.worked = step
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
	f := t.flight(t.begun)
	t.begun = step
	t.lay(f, b, samples)
	return nil
}

// awaited gives the rows of the step that has no end yet an Unknown token each.
func (t *Table) awaited() {
	if t.begun == t.ended {
		return
	}
	f := t.flight(t.begun - 1)
	for i := range f.batch.Work {
		w := &f.batch.Work[i]
		r := &t.rows[w.Row]
		if w.Sample > 0 && r.err == nil && r.opened == f.rows[i] {
			r.tokens, r.unknown = append(r.tokens, Unknown), true
		}
	}
}

// lay lists the sequences of checked work, with space for their results.
func (t *Table) lay(f *flight, b *gpu.StepBatch, samples int) {
	f.batch, f.sequences, f.rows = b, f.sequences[:0], f.rows[:0]
	f.failed = nil
	clear(f.result.Rows)
	f.result.Rows = slices.Grow(f.result.Rows[:0], len(b.Work))[:len(b.Work)]
	f.sampled = slices.Grow(f.sampled[:0], samples)[:samples]
	room := f.sampled
	for i := range b.Work {
		w, out := &b.Work[i], &f.result.Rows[i]
		r := &t.rows[w.Row]
		f.rows = append(f.rows, r.opened)
		if out.Err = r.err; r.err != nil {
			continue
		}
		r.force(w.Forced)
		end := w.Start + w.Count
		r.computed, r.asked, r.masked = end, w.Sample, w.Mask != nil
		out.Tokens, room = room[:0:w.Sample], room[w.Sample:]
		s := Sequence{Row: w.Row, Pages: r.pages, Tokens: r.tokens[w.Start:end], Start: w.Start, KeepLogits: w.KeepLogits, Result: out}
		if w.Sample > 0 {
			s.Sample = r.next(w, t.words())
		}
		if from, to := max(r.score.From, w.Start+1), min(r.score.To, end+1); from < to {
			s.Score = Score{From: from - 1, Targets: r.tokens[from:to], Top: r.score.Top}
			out.ScoredFrom = from
		}
		f.sequences = append(f.sequences, s)
	}
}

// end adds what was sampled to the rows. A row that was closed meanwhile stays as it is.
func (t *Table) end(f *flight) error {
	for i := range f.batch.Work {
		w, out := &f.batch.Work[i], &f.result.Rows[i]
		r := &t.rows[w.Row]
		if f.failed != nil && f.failed[i] != nil {
			*out = gpu.RowResult{Err: f.failed[i]}
		}
		if out.Err != nil {
			t.takeAlong(w.Row, f.rows[i], out.Err)
		}
		if r.opened != f.rows[i] {
			continue
		}
		if r.err = out.Err; w.Sample == 0 || r.err != nil {
			continue
		}
		if out.Late {
			r.late()
			continue
		}
		if n := len(out.Tokens); n < 1 || n > w.Sample {
			return fmt.Errorf("row %d: the device sampled %d tokens; it must be between 1 and %d", w.Row, n, w.Sample)
		}
		r.computed += len(out.Tokens) - 1
		r.add(out.Tokens)
	}
	return nil
}

// takeAlong gives a row's error to its work in the step behind, which has computed a token
// that does not exist.
func (t *Table) takeAlong(id gpu.Row, opened uint64, err error) {
	if t.begun == t.ended {
		return
	}
	behind := t.flight(t.ended)
	for i := range behind.batch.Work {
		if behind.batch.Work[i].Row == id && behind.rows[i] == opened {
			if behind.failed == nil {
				behind.failed = make([]error, len(behind.batch.Work))
			}
			behind.failed[i] = err
		}
	}
}

// late takes a row back to where it was before its last token was computed, so that the next
// work computes the logits again.
func (r *row) late() {
	r.computed--
	if r.unknown {
		r.tokens, r.unknown = r.tokens[:len(r.tokens)-1], false
	}
}

// force appends tokens that are certain.
func (r *row) force(tokens []int32) {
	for _, token := range tokens {
		r.tokens = append(r.tokens, token)
		r.history.sampled(token)
	}
}

// add appends sampled tokens, the first of which takes the place of an Unknown one.
func (r *row) add(tokens []int32) {
	for _, token := range tokens {
		if r.unknown {
			r.tokens[len(r.tokens)-1], r.unknown = token, false
		} else {
			r.tokens = append(r.tokens, token)
		}
		r.history.sampled(token)
	}
}
