package fakemodel

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/messages"
)

// run executes one step: deltas, then the KV of all rows, then the sampling, so
// that a row which reads what another writes in the same step is seen.
// beside says that the step before ran when this one was launched.
func (e *Executor) run(b *messages.RunBatch, beside bool) (*messages.BatchDone, error) {
	if e.epoch == 0 {
		e.epoch = b.Epoch
	}
	if b.Epoch != e.epoch {
		return nil, fmt.Errorf("the rows are of epoch %d; Reset comes first", e.epoch)
	}
	if b.Step != e.step+1 {
		return nil, fmt.Errorf("the last step was %d", e.step)
	}
	e.step = b.Step
	if err := e.applyDeltas(b); err != nil {
		return nil, err
	}
	if len(b.Work) == 0 {
		return nil, errors.New("no work")
	}
	for i := range b.Work {
		if e.failedRow(b.Work[i].Row) {
			continue
		}
		if err := e.checkWork(&b.Work[i]); err != nil {
			return nil, err
		}
		if err := e.checkFence(&b.Work[i], beside); err != nil {
			return nil, err
		}
	}
	for i := range b.Work {
		if e.failedRow(b.Work[i].Row) {
			continue
		}
		e.use(&b.Work[i])
		if err := e.store(&b.Work[i]); err != nil {
			return nil, err
		}
	}
	done := &messages.BatchDone{Header: b.Header, Step: b.Step}
	for i := range b.Work {
		if e.failedRow(b.Work[i].Row) {
			done.Failed = append(done.Failed, messages.RowFailed{Row: b.Work[i].Row, Reason: nothingToSample, End: messages.EndFailed})
			continue
		}
		if err := e.sample(&b.Work[i], done); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// lastKV is up to where a row's work stores KV at most: of what it samples, all
// but the last token.
func lastKV(w *messages.RowWork) int { return w.Start + w.Count + max(w.Sample, 1) - 1 }

// checkWork refuses work that no correct plan contains.
func (e *Executor) checkWork(w *messages.RowWork) error {
	r, err := e.row(w.Row, "given work")
	if err != nil {
		return err
	}
	end, last := w.Start+w.Count, lastKV(w)
	switch {
	case r.worked == e.step:
		return fmt.Errorf("row %d has work twice", w.Row)
	case w.Count < 1:
		return fmt.Errorf("row %d computes %d tokens, want at least 1", w.Row, w.Count)
	case w.Start != r.computed:
		return fmt.Errorf("row %d computes positions [%d, %d) but has KV for [0, %d)", w.Row, w.Start, end, r.computed)
	case end > len(r.tokens):
		return fmt.Errorf("row %d computes positions [%d, %d) of %d known tokens", w.Row, w.Start, end, len(r.tokens))
	case last > len(r.pages)*e.opt.PageSize:
		return fmt.Errorf("row %d computes positions [%d, %d) but its %d pages hold %d", w.Row, w.Start, last, len(r.pages), len(r.pages)*e.opt.PageSize)
	case e.opt.Context > 0 && last > e.opt.Context:
		return fmt.Errorf("row %d computes positions [%d, %d), the context ends at %d", w.Row, w.Start, last, e.opt.Context)
	case w.Sample < 0 || w.Sample > 0 && end != len(r.tokens):
		return fmt.Errorf("row %d samples after position %d but has %d tokens", w.Row, end-1, len(r.tokens))
	}
	for i := w.Start / e.opt.PageSize; i*e.opt.PageSize < last; i++ {
		if n := e.refs[r.pages[i]]; n != 1 {
			return fmt.Errorf("row %d writes page %d, which is in %d places of the open rows", w.Row, r.pages[i], n)
		}
	}
	r.worked = e.step
	return nil
}

// slot is where a row keeps the KV of a position.
func (e *Executor) slot(r *row, position int) int {
	return int(r.pages[position/e.opt.PageSize])*e.opt.PageSize + position%e.opt.PageSize
}

// store writes the KV of a row's work, reading the value before it back from
// the pool as attention would.
func (e *Executor) store(w *messages.RowWork) error {
	r := &e.rows[w.Row]
	if err := e.checkRead(w.Row, r, w.Start); err != nil {
		return err
	}
	for p := w.Start; p < w.Start+w.Count; p++ {
		e.storeAt(r, p)
	}
	r.computed = w.Start + w.Count
	return nil
}

// storeAt writes the KV of a position.
func (e *Executor) storeAt(r *row, p int) {
	prev := kvStart
	if p > 0 {
		prev = e.pool[e.slot(r, p-1)]
	}
	slot := e.slot(r, p)
	if p%e.opt.PageSize == 0 {
		e.takePage(r, p, slot)
	}
	e.pool[slot] = kvValue(prev, r.tokens[p], p)
}

// takePage spoils the rest of a page whose first slot is about to be written:
// it is stale whatever it holds.
func (e *Executor) takePage(r *row, position, slot int) {
	for i := range e.opt.PageSize {
		e.pool[slot+i] = garbage(slot+i, int(e.step))
	}
	e.spaces[r.pages[position/e.opt.PageSize]] = r.request.Namespace
}

// checkRead looks at the pages of positions [0, end) before they are read: they
// must have been written under the request's namespace and, with CheckReads, by
// the same tokens.
func (e *Executor) checkRead(id messages.Row, r *row, end int) error {
	for i := 0; i*e.opt.PageSize < end; i++ {
		if space := e.spaces[r.pages[i]]; space != r.request.Namespace {
			return fmt.Errorf("row %d of namespace %q reads page %d, written under %q", id, r.request.Namespace, r.pages[i], space)
		}
	}
	if !e.opt.CheckReads {
		return nil
	}
	for p := len(r.truth); p < end; p++ {
		prev := kvStart
		if p > 0 {
			prev = r.truth[p-1]
		}
		r.truth = append(r.truth, kvValue(prev, r.tokens[p], p))
	}
	for p := range end {
		if e.pool[e.slot(r, p)] != r.truth[p] {
			return fmt.Errorf("row %d reads stale KV of position %d in page %d", id, p, r.pages[p/e.opt.PageSize])
		}
	}
	return nil
}

// sample reads a row's KV back, samples and scores. A device that speculates samples
// several tokens in a step: here a number by a hash, up to TokensPerStep.
func (e *Executor) sample(w *messages.RowWork, done *messages.BatchDone) error {
	r := &e.rows[w.Row]
	params := r.request.Params
	end := w.Start + w.Count
	if err := e.checkRead(w.Row, r, end); err != nil {
		return err
	}
	scores := messages.PromptLogprobs{Row: w.Row}
	state := digestStart
	for p := range end {
		state = fold(state, e.pool[e.slot(r, p)])
		next := p + 1 // scored by the state after p
		if p >= w.Start && params.PromptLogprobs >= 0 && next >= params.PromptLogprobStart && next < len(r.request.Prompt) {
			if scores.Logprobs == nil {
				scores.First = next
			}
			scores.Logprobs = append(scores.Logprobs, logprobs(e.opt.Vocab, state, r.tokens[next], params.PromptLogprobs))
		}
	}
	if scores.Logprobs != nil {
		done.Prompts = append(done.Prompts, scores)
	}
	if w.Sample == 0 {
		return nil
	}
	if params.Grammar != nil && float64(mix(state, uint64(e.step))>>11)*0x1p-53 < e.opt.LateChance {
		done.Late = append(done.Late, w.Row)
		r.computed--
		return nil
	}
	most := min(w.Sample, 1+int(mix(state, 3)%uint64(max(1, e.opt.TokensPerStep))))
	for i := range most {
		position := end + i
		if i > 0 { // the token before is accepted: its KV is there
			e.storeAt(r, position-1)
			state = fold(state, e.pool[e.slot(r, position-1)])
			r.computed = position
		}
		token, ok := sampleToken(&e.opt, state, r.digest, params, len(r.request.Prompt), r.tokens[:position])
		if !ok && i == 0 {
			r.failed = true
			done.Failed = append(done.Failed, messages.RowFailed{Row: w.Row, Reason: nothingToSample, End: messages.EndFailed})
		}
		if !ok {
			return nil
		}
		r.tokens = append(r.tokens, token)
		sampled := messages.SampledToken{Row: w.Row, Token: token}
		if params.TopLogprobs >= 0 {
			l := logprobs(e.opt.Vocab, state, token, params.TopLogprobs)
			sampled.Logprobs = &l
		}
		done.Sampled = append(done.Sampled, sampled)
	}
	return nil
}

// nothingToSample is the outcome of a row whose tokens are all excluded.
const nothingToSample = "no token can be sampled: every one is excluded"
