package former

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// Suspects are the requests that a message is about, each once: those to blame
// if handling it fails. It only reads.
func (f *Core) Suspects(msg messages.ToFormer) []messages.RequestID {
	ids := messages.Requests(msg)
	switch m := msg.(type) {
	case *messages.PagesReserved:
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
