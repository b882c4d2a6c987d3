package fakemodel

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// row is one entry of the first pool level: a request's page table and tokens.
type row struct {
	request  *messages.EngineRequest // nil: not open
	digest   uint64                  // of the parameters that shape draws
	pages    []messages.Page
	tokens   []int32 // prompt, output, sampled
	computed int     // positions [0, computed) have their KV in the pages
	worked   messages.StepID
	failed   bool    // nothing could be sampled: it computes nothing more
	truth    []int32 // CheckReads: the KV values that the tokens demand
}

// applyDeltas brings the rows up to a step's state, in the fixed order.
func (e *Executor) applyDeltas(b *messages.RunBatch) error {
	for _, id := range b.Closed {
		if err := e.close(id); err != nil {
			return err
		}
	}
	for i := range b.Opened {
		if err := e.open(&b.Opened[i]); err != nil {
			return err
		}
	}
	for i := range b.Replaced {
		if err := e.replace(&b.Replaced[i]); err != nil {
			return err
		}
	}
	for i := range b.Grown {
		r, err := e.row(b.Grown[i].Row, "grown")
		if err != nil {
			return err
		}
		if err := e.hold(b.Grown[i].Row, b.Grown[i].Pages); err != nil {
			return err
		}
		r.pages = append(r.pages, b.Grown[i].Pages...)
	}
	return nil
}

// row finds an open row.
func (e *Executor) row(id messages.Row, what string) (*row, error) {
	if id < 0 || int(id) >= len(e.rows) {
		return nil, fmt.Errorf("row %d is %s, want 0 to %d", id, what, len(e.rows)-1)
	}
	if e.rows[id].request == nil {
		return nil, fmt.Errorf("row %d is %s but not open", id, what)
	}
	return &e.rows[id], nil
}

// failedRow reports whether a row computes nothing more.
func (e *Executor) failedRow(id messages.Row) bool {
	return id >= 0 && int(id) < len(e.rows) && e.rows[id].failed
}

func (e *Executor) close(id messages.Row) error {
	r, err := e.row(id, "closed")
	if err != nil {
		return err
	}
	e.release(r.pages)
	*r = row{}
	return nil
}

func (e *Executor) open(o *messages.RowOpened) error {
	if o.Row < 0 || int(o.Row) >= len(e.rows) {
		return fmt.Errorf("row %d is opened, want 0 to %d", o.Row, len(e.rows)-1)
	}
	if held := e.rows[o.Row].request; held != nil {
		return fmt.Errorf("row %d is opened for request %d but request %d holds it", o.Row, o.Request.ID, held.ID)
	}
	prior := o.Request.Output
	if len(o.Output) < len(prior) || !slices.Equal(o.Output[:len(prior)], prior) {
		return fmt.Errorf("row %d: output %v of request %d does not go on from what it was submitted with, %v", o.Row, o.Output, o.Request.ID, prior)
	}
	tokens := slices.Concat(o.Request.Prompt, o.Output)
	if len(o.Request.Prompt) == 0 {
		return fmt.Errorf("row %d: request %d has no prompt", o.Row, o.Request.ID)
	}
	for p, t := range tokens {
		if t < 0 || int(t) >= e.opt.Vocab {
			return fmt.Errorf("row %d: token %d at position %d is outside the vocabulary of %d", o.Row, t, p, e.opt.Vocab)
		}
	}
	cached := len(o.Pages) * e.opt.PageSize
	if cached >= len(tokens) {
		return fmt.Errorf("row %d: a cached prefix of %d leaves nothing to compute of %d tokens", o.Row, cached, len(tokens))
	}
	if err := e.hold(o.Row, o.Pages); err != nil {
		return err
	}
	e.rows[o.Row] = row{request: o.Request, digest: paramsDigest(o.Request.Params, len(o.Request.Prompt)),
		pages: slices.Clone(o.Pages), tokens: tokens, computed: cached}
	return nil
}

func (e *Executor) replace(d *messages.RowReplaced) error {
	r, err := e.row(d.Row, "replaced")
	if err != nil {
		return err
	}
	if d.First < 0 || d.First+len(d.Pages) > len(r.pages) {
		return fmt.Errorf("row %d: pages [%d, %d) are replaced, it has %d", d.Row, d.First, d.First+len(d.Pages), len(r.pages))
	}
	e.release(r.pages[d.First : d.First+len(d.Pages)])
	if err := e.hold(d.Row, d.Pages); err != nil {
		return err
	}
	copy(r.pages[d.First:], d.Pages)
	return nil
}

// hold counts pages that a row's table gains.
func (e *Executor) hold(id messages.Row, pages []messages.Page) error {
	for _, p := range pages {
		if p < 1 || int(p) > e.opt.Pages {
			return fmt.Errorf("row %d gets page %d, want 1 to %d", id, p, e.opt.Pages)
		}
	}
	for _, p := range pages {
		e.refs[p]++
	}
	return nil
}

// release counts pages that a row's table loses.
func (e *Executor) release(pages []messages.Page) {
	for _, p := range pages {
		e.refs[p]--
	}
}
