package httpapi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// portrait is a model as a snapshot shows it.
func (p *painter) portrait(name string, s *messages.SnapshotTaken) boardModel {
	m := boardModel{Model: name, Engines: make([]boardEngine, 0, len(s.Engines)), Requests: []boardRequest{}}
	admitted := map[messages.RequestID]boardRequest{}
	var ours, others, waiting []boardRequest
	for i, e := range s.Engines {
		b := boardEngine{Engine: e.Engine, Epoch: e.Epoch, PageSize: e.PageSize, PageBytes: e.PageBytes, LeftOut: e.LeftOut, Steps: e.Steps, rest: restAfter(e)}
		b.Pages = pageCounts{Total: e.Count.Total, Free: e.Count.Free, Evictable: e.Count.Evictable, Protected: e.Count.Protected, Leased: e.Count.Leased}
		b.Cells, b.PerCell = e.Cells()
		b.Tree = p.part(fmt.Sprintf("the prefix tree of engine %d of %s", e.Engine, name), e.Tree)
		m.Engines = append(m.Engines, b)
		for _, r := range e.Requests {
			one := boardRequest{ID: r.ID, State: r.State, Prompt: r.Prompt, Output: r.Output, Computed: r.Computed, Cached: r.Cached,
				Engine: i, Pages: r.Pages, Shared: r.Shared, Bytes: int64(r.Pages) * e.PageBytes, Private: r.Private, Hidden: r.Hidden}
			switch r.State {
			case messages.StateRetracted:
				m.Counts.Retracted++
			case messages.StatePrefill, messages.StateDecode:
				m.Counts.Running++
			}
			if r.ID == 0 {
				others = append(others, one)
			} else {
				admitted[r.ID] = one
			}
		}
	}
	for _, o := range s.Open {
		r, ok := admitted[o.ID]
		if delete(admitted, o.ID); !ok {
			if o.Ended {
				continue
			}
			r = boardRequest{ID: o.ID, State: "waiting", Prompt: o.Prompt, Output: o.Output, Engine: -1}
			if o.Held {
				r.State = "held"
				m.Counts.Held++
			} else {
				m.Counts.Waiting++
			}
		}
		r.UserID, r.Choice, r.Priority, r.AgeMS = o.UserID, o.Choice, o.Priority, o.Age.Milliseconds()
		if ok {
			ours = append(ours, r)
		} else {
			waiting = append(waiting, r)
		}
	}
	// Of those that Open leaves out, what the engine has not admitted waits.
	unknown := max(0, s.Hidden-len(admitted))
	for _, r := range admitted { // their clients have the end, or they came after the others in Open
		others = append(others, r)
	}
	slices.SortFunc(others, func(a, b boardRequest) int { return cmp.Compare(a.ID, b.ID) })
	all := slices.Concat(ours, others)
	slices.SortStableFunc(all, func(a, b boardRequest) int { return cmp.Compare(rank(a.State), rank(b.State)) })
	all = append(all, waiting...)
	m.Counts.Waiting += unknown
	m.Counts.Hidden = max(0, len(all)-mostListed) + unknown
	m.Requests = append(m.Requests, all[:min(len(all), mostListed)]...)
	return m
}

func rank(state string) int {
	if state == messages.StateRetracted {
		return 1
	}
	return 0
}
