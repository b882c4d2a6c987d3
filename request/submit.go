package request

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// minEventRoom is the least capacity of a call's channel.
const minEventRoom = 4

// submit takes or refuses a call. No foreign code runs in it: the detokeniser
// comes with the first token.
func (c *Core) submit(now time.Duration, m *messages.SubmitRequests, out *messages.Outbox) {
	t := c.table
	invariants.Check(cap(m.Events) >= minEventRoom, "the channel of call %d has room for %d events, want at least %d", m.Call, cap(m.Events), minEventRoom)
	if t.calls[m.Call] != nil { // delivered again after a crash behind the commit
		out.Record(messages.StaleMessages, 1)
		return
	}
	ousted, refused := c.refusal(m)
	if refused != nil {
		refused.Call = m.Call
		out.Record(messages.RequestsRefused, 1)
		c.sink.Deliver(m.Events, refused)
		return
	}
	k := &call{id: m.Call, user: userKey{m.Owner, m.UserID}, events: m.Events, awaited: len(m.Requests),
		queueTimeout: t.opt.QueueTimeout, requestTimeout: t.opt.RequestTimeout}
	ids := make([]messages.RequestID, len(m.Requests))
	for i := range m.Requests {
		e := t.newEntry(now, k, i, &m.Requests[i])
		e.id = t.nextID + messages.RequestID(i) + 1
		k.entries = append(k.entries, e)
		ids[i] = e.id
	}
	c.sink.Deliver(m.Events, &messages.CallAccepted{Call: m.Call, Requests: ids})

	t.nextID += messages.RequestID(len(ids))
	t.calls[k.id] = k
	if k.user.id != "" {
		t.users[k.user] = k
	}
	for _, e := range k.entries {
		t.entries[e.id] = e
		t.queuedTokens += len(e.sub.Prompt)
		t.joinLine(e)
		if e.place == placeWaiting {
			c.fresh = append(c.fresh, e)
		}
	}
	out.Record(messages.RequestsTotal, float64(len(ids)))
	if at, ok := t.deadline(k.entries[0]); ok { // that of all of them
		c.wakeAt(now, at, out)
	}
	c.oust(now, ousted, out)
}

// newEntry makes an entry that is not in the table yet.
func (t *Table) newEntry(now time.Duration, k *call, index int, s *messages.Submission) *entry {
	e := &entry{call: k, index: index, sub: *s, params: s.Params, queued: true, arrived: now, lastToken: now}
	if limit := t.opt.limit() - len(s.Prompt); s.Params.MaxTokens > limit {
		p := *s.Params
		p.MaxTokens = limit
		e.params = &p
	}
	if s.After < 0 {
		e.place = placeWaiting
	}
	if index > 0 && slices.Equal(s.Stop, k.entries[index-1].sub.Stop) {
		e.stops = k.entries[index-1].stops
	} else {
		e.stops = newMatcher(s.Stop)
	}
	return e
}

// refusal is why a call is not taken; nil when it is, with the requests that
// have to give way to it.
func (c *Core) refusal(m *messages.SubmitRequests) ([]*entry, *messages.CallRefused) {
	if r := c.table.refusal(m); r != nil {
		return nil, r
	}
	return c.table.placeInQueue(m)
}

func (t *Table) refusal(m *messages.SubmitRequests) *messages.CallRefused {
	if t.draining {
		return &messages.CallRefused{Kind: messages.RefusedDraining, Message: "the server is shutting down; send the request to another one", Loggable: true, Code: "shutting_down"}
	}
	if bad := t.validateCall(m); bad != nil {
		return &messages.CallRefused{Kind: messages.RefusedInvalid, Message: bad.message, Param: bad.param, Code: bad.code}
	}
	if m.UserID != "" && t.users[userKey{m.Owner, m.UserID}] != nil {
		return &messages.CallRefused{Kind: messages.RefusedDuplicate, Param: "rid", Code: "duplicate_request_id",
			Message: fmt.Sprintf("Duplicate request ID %q: a call with it is open; wait for its end or choose another", m.UserID)}
	}
	if over := len(t.entries) + len(m.Requests) - t.opt.MaxOpenRequests; over > 0 {
		return t.busy(&m.Requests[0], over, fmt.Sprintf("%d requests are open and %d more were sent, the server takes at most %d at a time",
			len(t.entries), len(m.Requests), t.opt.MaxOpenRequests))
	}
	if t.opt.MaxQueuedTokens > 0 && t.queuedTokens > 0 {
		tokens := 0
		for i := range m.Requests {
			tokens += len(m.Requests[i].Prompt)
		}
		if t.queuedTokens+tokens > t.opt.MaxQueuedTokens {
			return t.busy(&m.Requests[0], len(m.Requests), fmt.Sprintf("%d prompt tokens are waiting and %d more were sent, the server takes at most %d at a time",
				t.queuedTokens, tokens, t.opt.MaxQueuedTokens))
		}
	}
	return t.tooLong(m)
}

// Abandon answers the client of a message on which Step panicked and which will
// not be delivered again, if the table does not know it: nobody else would.
func (c *Core) Abandon(msg messages.ToIntake) {
	const why = "the server failed while taking the request; send it again"
	switch m := msg.(type) {
	case *messages.SubmitRequests:
		if c.table.calls[m.Call] == nil && c.sink.Room(m.Events) > 0 {
			c.sink.Deliver(m.Events, &messages.CallRefused{Call: m.Call, Kind: messages.RefusedInternal, Message: why, Loggable: true, Code: "internal_error"})
		}
	case *messages.AskCacheFlush:
		answer(m.Reply, why)
	case *messages.ConfigureIntake:
		answer(m.Reply, why)
	case *messages.AskAudit:
		answer(m.Reply, nil)
	case *messages.AskCacheTree:
		answer(m.Reply, nil)
	}
}
