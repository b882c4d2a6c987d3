package fakemodel

import (
	"fmt"

	"github.com/troupe-engine/troupe/messages"
)

// use is the newest step that has read or written a page, and for whom.
type use struct {
	step    messages.StepID
	request messages.RequestID
}

// pagesIn calls f for the pages of the positions [from, to) of a row.
func (e *Executor) pagesIn(r *row, from, to int, f func(messages.Page)) {
	for i := from / e.opt.PageSize; i*e.opt.PageSize < to; i++ {
		f(r.pages[i])
	}
}

// use notes the pages that a row's work reads or writes.
func (e *Executor) use(w *messages.RowWork) {
	r := &e.rows[w.Row]
	e.pagesIn(r, 0, lastKV(w), func(p messages.Page) { e.uses[p] = use{e.step, r.request.ID} })
}

// checkFence refuses work that writes a page which another request used in the
// step before, when that step was not done at the launch: the page has changed
// hands while a step could still read or write it. Here the steps run one after
// the other, so nothing else would show it.
func (e *Executor) checkFence(w *messages.RowWork, beside bool) (err error) {
	if !beside {
		return nil
	}
	r := &e.rows[w.Row]
	e.pagesIn(r, w.Start, lastKV(w), func(p messages.Page) {
		if u := e.uses[p]; u.step == e.step-1 && u.request != r.request.ID {
			err = fmt.Errorf("row %d of request %d writes page %d, which request %d uses in step %d, not done when this one was launched",
				w.Row, r.request.ID, p, u.request, u.step)
		}
	})
	return err
}
