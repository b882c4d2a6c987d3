package former

import "github.com/troupe-engine/troupe/messages"

// copied are pages that a row gave up for those of the tree while a step still
// reads them. They count as leased until that step is done.
type copied struct {
	until messages.StepID
	pages []messages.Page
}

// keepCopies takes over the pages that an insertion replaces in a row's table.
// From its next step on the row uses the tree's.
func (f *Core) keepCopies(s *sequence, outcome messages.PrefixInserted) {
	end := outcome.First + len(outcome.Pages)
	pages := append([]messages.Page(nil), s.lease.Pages[outcome.First:end]...)
	f.copies = append(f.copies, copied{s.lease.LastStep, pages})
}

// freeCopies gives back those that no step reads any more.
func (f *Core) freeCopies(m *messages.CommitPlan) {
	kept := f.copies[:0]
	for _, c := range f.copies {
		if c.until <= f.done {
			m.Frees = append(m.Frees, c.pages...)
		} else {
			kept = append(kept, c)
		}
	}
	clear(f.copies[len(kept):])
	f.copies = kept
}
