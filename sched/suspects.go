package sched

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// Suspects are the requests that a message is about, each once: those to blame
// if handling it fails. It only reads.
func (f *Former) Suspects(msg messages.ToFormer) []messages.RequestID {
	var ids []messages.RequestID
	switch m := msg.(type) {
	case *messages.CandidatesOffered:
		ids = requestIDs(m.Requests)
	case *messages.FinishRequests:
		ids = append(ids, m.IDs...)
	case *messages.PrefixesLocked:
		for i := range m.Matches {
			ids = append(ids, m.Matches[i].ID)
		}
	case *messages.PagesReserved:
		for i := range m.Inserted {
			ids = append(ids, m.Inserted[i].ID)
		}
		for i := range m.Granted {
			ids = append(ids, m.Granted[i].ID)
		}
		if f.kept != nil {
			ids = append(ids, f.requests(f.kept.Step)...)
		}
	case *messages.PagesRefused:
		for _, s := range f.plan.reserves {
			ids = append(ids, s.req.ID)
		}
	case *messages.BatchDone:
		ids = f.requests(m.Step)
	case *messages.BatchFailed:
		ids = f.requests(m.Step)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
