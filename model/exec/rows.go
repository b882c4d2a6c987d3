package exec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
)

// row is one entry of the request table. Its slices are reused by the next
// request of the row.
type row struct {
	request  *messages.EngineRequest // nil: not open
	tokens   []int32                 // prompt, output, sampled
	pages    []int32                 // page table
	computed int                     // positions [0, computed) have their KV in the pages
	worked   messages.StepID         // last step with work for the row

	history  history
	endMask  []int32 // not drawn before MinTokens outputs
	sampling gpu.SampleSpec
	scoring  gpu.ScoreSpec
}

// release closes a row and keeps its memory.
func (r *row) release() {
	r.request, r.computed, r.worked = nil, 0, 0
	r.tokens, r.pages, r.endMask = r.tokens[:0], r.pages[:0], r.endMask[:0]
	r.history.clear()
	r.sampling = gpu.SampleSpec{Bias: r.sampling.Bias[:0]}
	r.scoring = gpu.ScoreSpec{}
}

// apply brings the rows up to a step's state, in the order that RunBatch fixes.
func (e *Executor) apply(b *messages.RunBatch) error {
	for _, id := range b.Closed {
		r, err := e.open(id, "closed")
		if err != nil {
			return err
		}
		r.release()
	}
	for i := range b.Opened {
		if err := e.start(&b.Opened[i]); err != nil {
			return err
		}
	}
	for i := range b.Replaced {
		if err := e.replace(&b.Replaced[i]); err != nil {
			return err
		}
	}
	for i := range b.Grown {
		r, err := e.open(b.Grown[i].Row, "grown")
		if err != nil {
			return err
		}
		if err := e.addPages(b.Grown[i].Row, r, b.Grown[i].Pages); err != nil {
			return err
		}
	}
	return nil
}

func (e *Executor) row(id messages.Row, what string) (*row, error) {
	if id < 0 || int(id) >= len(e.rows) {
		return nil, fmt.Errorf("row %d is %s; there are rows 0 to %d", id, what, len(e.rows)-1)
	}
	return &e.rows[id], nil
}

// open finds an open row.
func (e *Executor) open(id messages.Row, what string) (*row, error) {
	r, err := e.row(id, what)
	if err == nil && r.request == nil {
		err = fmt.Errorf("row %d is %s but not open", id, what)
	}
	return r, err
}

// start gives a row to a request.
func (e *Executor) start(o *messages.RowOpened) error {
	r, err := e.row(o.Row, "opened")
	if err != nil {
		return err
	}
	if r.request != nil {
		return fmt.Errorf("row %d is opened but request %d holds it", o.Row, r.request.ID)
	}
	if err := e.checkOpened(o); err != nil {
		return fmt.Errorf("row %d: %w", o.Row, err)
	}
	r.release()
	r.request = o.Request
	r.tokens = append(append(r.tokens, o.Request.Prompt...), o.Output...)
	if err := e.addPages(o.Row, r, o.Pages); err != nil {
		return err
	}
	r.computed = len(o.Pages) * e.opt.PageSize
	if r.computed >= len(r.tokens) {
		return fmt.Errorf("row %d: a cached prefix of %d tokens leaves nothing to compute of %d", o.Row, r.computed, len(r.tokens))
	}
	r.prepare(e.opt.Vocab)
	return nil
}

func (e *Executor) checkOpened(o *messages.RowOpened) error {
	if o.Request == nil || o.Request.Params == nil {
		return errors.New("opened without a request or its parameters")
	}
	prior := o.Request.Output
	switch n := len(o.Request.Prompt) + len(o.Output); {
	case len(o.Request.Prompt) == 0:
		return fmt.Errorf("request %d has no prompt", o.Request.ID)
	case len(o.Output) < len(prior) || !slices.Equal(o.Output[:len(prior)], prior):
		return fmt.Errorf("the output of request %d does not go on from what it was submitted with", o.Request.ID)
	case n > e.opt.Context:
		return fmt.Errorf("request %d has %d tokens, the context is %d", o.Request.ID, n, e.opt.Context)
	}
	for _, part := range [][]int32{o.Request.Prompt, o.Output} {
		for i, t := range part {
			if t < 0 || int(t) >= e.opt.Vocab {
				return fmt.Errorf("token %d (number %d of its part) of request %d is outside the vocabulary of %d", t, i, o.Request.ID, e.opt.Vocab)
			}
		}
	}
	return nil
}

func (e *Executor) replace(d *messages.RowReplaced) error {
	r, err := e.open(d.Row, "replaced")
	if err != nil {
		return err
	}
	if d.First < 0 || d.First > len(r.pages) || len(d.Pages) > len(r.pages)-d.First {
		return fmt.Errorf("row %d: %d pages from %d on are replaced, but it has %d", d.Row, len(d.Pages), d.First, len(r.pages))
	}
	for i, p := range d.Pages {
		if err := e.checkPage(d.Row, p); err != nil {
			return err
		}
		r.pages[d.First+i] = int32(p)
	}
	return nil
}

// addPages appends to a row's page table.
func (e *Executor) addPages(id messages.Row, r *row, pages []messages.Page) error {
	for _, p := range pages {
		if err := e.checkPage(id, p); err != nil {
			return err
		}
		r.pages = append(r.pages, int32(p))
	}
	return nil
}

func (e *Executor) checkPage(id messages.Row, p messages.Page) error {
	if p < 1 || int(p) > e.opt.Pages {
		return fmt.Errorf("row %d gets page %d; there are pages 1 to %d", id, p, e.opt.Pages)
	}
	return nil
}
