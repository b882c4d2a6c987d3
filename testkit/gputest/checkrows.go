package gputest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// checkRows computes one sequence in rows that got it in different ways; the results
// must be the same bits.
func checkRows(d gpu.Device) error {
	p, w := Build(Shapes()[0], 7)
	tokens := randomTokens(rand.New(rand.NewPCG(7, 4)), p.Vocab, 30)
	for _, layout := range []gpu.Layout{gpu.Contiguous, gpu.Paged} {
		m, err := Load(d, p, w, gpu.PoolSpec{PageSize: 4, Pages: 24, Layout: layout})
		if err != nil {
			return err
		}
		defer m.Close()
		if err := rowsAlike(m, tokens); err != nil {
			return fmt.Errorf("layout %s: %w", layout, err)
		}
	}
	return nil
}

func rowsAlike(m gpu.Model, tokens []int32) error {
	own := []int32{1, 2, 3, 4, 5, 6, 7, 8}
	whole := Whole(tokens, own)
	whole.KeepLogits = true
	want, err := Fresh(m, whole)
	if err != nil {
		return err
	}
	tail := func(what string, got [][]float32) error {
		if err := Same(got, want[0].Logits[len(tokens)-len(got):]); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	// Row 1 begins with four of row 0's pages, as after a match in the cache.
	cached := Part{Open: &gpu.RowOpened{Prompt: tokens, Pages: own[:4], Sampling: Plain()}, Grow: []int32{9, 10, 11},
		RowWork: gpu.RowWork{Row: 1, Start: 16, Count: 10, KeepLogits: true}}
	got, err := Step(m, cached)
	if err != nil {
		return err
	}
	if err := Same(got[0].Logits, want[0].Logits[16:26]); err != nil {
		return fmt.Errorf("from a cached prefix: %w", err)
	}
	// Two of its own pages are replaced by row 0's; then a third row writes to the
	// replaced ones, with the tokens as the output of a shorter prompt.
	b := Batch(Part{Open: &gpu.RowOpened{Prompt: tokens[:5], Output: tokens[5:], Sampling: Plain()}, Grow: []int32{9, 10, 12, 13, 14, 15, 16, 17},
		RowWork: gpu.RowWork{Row: 2, Count: len(tokens), KeepLogits: true}},
		Part{Grow: []int32{18}, RowWork: gpu.RowWork{Row: 1, Start: 26, Count: 4, KeepLogits: true}})
	b.Replaced = []gpu.RowReplaced{{Row: 1, First: 4, Pages: own[4:6]}}
	if got, err = Run(m, b); err != nil {
		return err
	}
	if err := errors.Join(tail("computed as output", got[0].Logits), tail("on replaced pages", got[1].Logits)); err != nil {
		return err
	}
	// A row that is opened again has nothing of its earlier sequence.
	b = Batch(Part{Open: &gpu.RowOpened{Prompt: tokens, Sampling: Plain()}, Grow: []int32{18, 19, 20, 21, 22, 23, 24, 11},
		RowWork: gpu.RowWork{Row: 1, Count: len(tokens), KeepLogits: true}})
	b.Closed = []gpu.Row{2, 1}
	if got, err = Run(m, b); err != nil {
		return err
	}
	return tail("in a row that was closed", got[0].Logits)
}

// checkOverlap runs the same steps one at a time and two in flight: every step
// but the first is then submitted before the results of the one before it are
// read, and computes the tokens that that one samples. All results must be the
// same, byte for byte.
func checkOverlap(d gpu.Device) error {
	p, w := Build(Shapes()[1], 12) // tied: it has no poison that could be sampled
	spec := Pool(p, gpu.PoolSpec{PageSize: 4, Pages: 120, DType: d.Info().KV[0]})
	m, err := Load(d, p, w, spec)
	if err != nil {
		return err
	}
	defer m.Close()
	var want []ended
	for _, b := range overlapScript(p, spec) {
		e := <-submit(m, b)
		if e.err != nil {
			return fmt.Errorf("one step at a time: %w", e.err)
		}
		want = append(want, e)
	}
	if err := m.NewPool(spec); err != nil {
		return err
	}
	var flying []<-chan ended
	for i, b := range overlapScript(p, spec) {
		flying = append(flying, submit(m, b))
		if i+1 < gpu.StepsInFlight {
			continue
		}
		if err := sameStep(<-flying[0], want[i+1-gpu.StepsInFlight], i+1-gpu.StepsInFlight); err != nil {
			return err
		}
		flying = flying[1:]
	}
	for i, c := range flying {
		if err := sameStep(<-c, want[len(want)-len(flying)+i], len(want)-len(flying)+i); err != nil {
			return err
		}
	}
	return nil
}

func sameStep(got, want ended, step int) error {
	if got.err != nil {
		return fmt.Errorf("step %d beside another one: %w", step, got.err)
	}
	for i := range want.rows {
		g, w := &got.rows[i], &want.rows[i]
		if !slices.Equal(g.Tokens, w.Tokens) {
			return fmt.Errorf("step %d, row %d of it: sampled %v beside another step, %v alone", step, i, g.Tokens, w.Tokens)
		}
		if err := Same(g.Logits, w.Logits); err != nil {
			return fmt.Errorf("step %d, row %d of it, beside another step: %w", step, i, err)
		}
		if !slices.EqualFunc(g.Logprobs, w.Logprobs, func(a, b gpu.Logprobs) bool { return a.Chosen == b.Chosen && slices.Equal(a.Top, b.Top) }) {
			return fmt.Errorf("step %d, row %d of it: other log probabilities beside another step", step, i)
		}
	}
	return nil
}

// overlapScript is steps of three rows that open, compute a prompt in chunks,
// sample for a while, with penalties that depend on what was sampled, and close.
// It needs to know no token that is sampled.
func overlapScript(p *gpu.Program, spec gpu.PoolSpec) (script []*gpu.StepBatch) {
	random := rand.New(rand.NewPCG(12, 13))
	type life struct{ known, computed, left int }
	rows, pages := make([]life, 3), newDealer(random, spec.Pages)
	for i := range 24 {
		b := &gpu.StepBatch{}
		for id := range rows {
			r, row := &rows[id], gpu.Row(id)
			if r.left == 0 {
				if r.known > 0 {
					b.Closed = append(b.Closed, row)
				}
				*r = life{known: 3 + random.IntN(9), left: 4 + random.IntN(5)}
				s := gpu.Sampling{Temperature: 1.5 * float32(id), TopP: 0.95, RepetitionPenalty: 1.3, FrequencyPenalty: 0.5, Seed: uint64(i), TopLogprobs: 2}
				b.Opened = append(b.Opened, gpu.RowOpened{Row: row, Prompt: randomTokens(random, p.Vocab, r.known), Sampling: s})
				b.Grown = append(b.Grown, gpu.RowGrown{Row: row, Pages: pages.deal(r.known+r.left, spec.PageSize)})
			}
			work := gpu.RowWork{Row: row, Start: r.computed, Count: min(5, r.known-r.computed), KeepLogits: true}
			if r.computed += work.Count; r.computed == r.known {
				work.Sample = 1
				r.known++
				r.left--
			}
			b.Work = append(b.Work, work)
		}
		script = append(script, b)
	}
	return script
}

// checkNothingToSample: a row whose tokens are all excluded gets that error until it is
// closed, and the other rows continue.
func checkNothingToSample(d gpu.Device) error {
	p, w := Table(4)
	m, err := Load(d, p, w, gpu.PoolSpec{PageSize: 1, Pages: 1})
	if err != nil {
		return err
	}
	defer m.Close()
	mate := Last([]int32{4}, []int32{2}, sameSlot(2), Plain())
	mate.Sample = 1
	alone, err := Fresh(m, mate)
	if err != nil {
		return err
	}
	all := Plain()
	for token := range int32(tableVocab) {
		all.EndTokens = append(all.EndTokens, token)
	}
	all.MinTokens = 2
	byGrammar, byEnds := mate, Last([]int32{4}, []int32{2}, sameSlot(2), all)
	byGrammar.Mask = gpu.Allow(make([]uint32, (tableVocab+31)/32))
	byEnds.Sample = 1
	got, err := Fresh(m, byGrammar, mate, byEnds)
	if err != nil {
		return err
	}
	for _, i := range []int{0, 2} {
		if !errors.Is(got[i].Err, gpu.ErrNothingToSample) || len(got[i].Tokens) > 0 {
			return fmt.Errorf("row %d gave %v and %v, want no token and %v", i, got[i].Tokens, got[i].Err, gpu.ErrNothingToSample)
		}
	}
	if got[1].Err != nil || !slices.Equal(got[1].Tokens, alone[0].Tokens) {
		return fmt.Errorf("its batch mate sampled %v (%v), alone %v", got[1].Tokens, got[1].Err, alone[0].Tokens)
	}
	// A step that was submitted meanwhile has work for the row.
	next := func(row gpu.Row) Part {
		return Part{Grow: sameSlot(1), RowWork: gpu.RowWork{Row: row, Start: 2, Count: 1, Sample: 1}}
	}
	if got, err = Step(m, next(0), next(1)); err != nil {
		return err
	}
	if !errors.Is(got[0].Err, gpu.ErrNothingToSample) || got[1].Err != nil || len(got[1].Tokens) != 1 {
		return fmt.Errorf("in the next step: %+v", got)
	}
	b := Batch(mate)
	b.Closed = []gpu.Row{0}
	if got, err = Run(m, b); err == nil && !slices.Equal(got[0].Tokens, alone[0].Tokens) {
		err = fmt.Errorf("opened again, the row sampled %v (%v), want %v", got[0].Tokens, got[0].Err, alone[0].Tokens)
	}
	return err
}
