package rows

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// apply applies a step's changes in the order of StepBatch.
func (t *Table) apply(b *gpu.StepBatch) error {
	for _, id := range b.Closed {
		r, err := t.find(id, "closed")
		if err != nil {
			return err
		}
		r.close()
	}
	for i := range b.Opened {
		if err := t.start(&b.Opened[i]); err != nil {
			return err
		}
	}
	for i := range b.Replaced {
		if err := t.replace(&b.Replaced[i]); err != nil {
			return err
		}
	}
	for i := range b.Grown {
		r, err := t.find(b.Grown[i].Row, "grown")
		if err != nil {
			return err
		}
		if err := t.addPages(b.Grown[i].Row, r, b.Grown[i].Pages); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) row(id gpu.Row, what string) (*row, error) {
	if id < 0 || int(id) >= len(t.rows) {
		return nil, fmt.Errorf("row %d cannot be %s: there are only rows 0 to %d", id, what, len(t.rows)-1)
	}
	return &t.rows[id], nil
}

func (t *Table) find(id gpu.Row, what string) (*row, error) {
	r, err := t.row(id, what)
	if err == nil && !r.open {
		err = fmt.Errorf("row %d cannot be %s: it is not open", id, what)
	}
	return r, err
}

func (t *Table) start(o *gpu.RowOpened) error {
	r, err := t.row(o.Row, "opened")
	if err != nil {
		return err
	}
	if r.open {
		return fmt.Errorf("row %d cannot be opened: it is already open", o.Row)
	}
	if err := t.checkOpened(o); err != nil {
		return fmt.Errorf("row %d: %w", o.Row, err)
	}
	r.open, r.prompt, r.sampling, r.score = true, len(o.Prompt), o.Sampling, o.Score
	r.tokens = append(append(r.tokens, o.Prompt...), o.Output...)
	if err := t.addPages(o.Row, r, o.Pages); err != nil {
		return err
	}
	r.computed = len(o.Pages) * t.spec.PageSize
	if r.computed >= len(r.tokens) {
		return fmt.Errorf("row %d: the cached prefix has %d tokens and the request %d; nothing is left to compute", o.Row, r.computed, len(r.tokens))
	}
	r.history.begin(&r.sampling, o.Prompt, o.Output)
	return nil
}

func (t *Table) replace(d *gpu.RowReplaced) error {
	r, err := t.find(d.Row, "replaced")
	if err != nil {
		return err
	}
	if d.First < 0 || d.First > len(r.pages) || len(d.Pages) > len(r.pages)-d.First {
		return fmt.Errorf("row %d: %d pages are replaced from index %d on, but it has %d", d.Row, len(d.Pages), d.First, len(r.pages))
	}
	if err := t.checkPages(d.Row, d.Pages); err != nil {
		return err
	}
	copy(r.pages[d.First:], d.Pages)
	return nil
}

func (t *Table) addPages(id gpu.Row, r *row, pages []int32) error {
	if err := t.checkPages(id, pages); err != nil {
		return err
	}
	most := (t.spec.Context + t.spec.PageSize - 1) / t.spec.PageSize
	if n := len(r.pages) + len(pages); n > most {
		return fmt.Errorf("row %d: it gets %d pages, but a context of %d has %d", id, n, t.spec.Context, most)
	}
	r.pages = append(r.pages, pages...)
	return nil
}
