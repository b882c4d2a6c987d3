package request

import (
	"cmp"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// minEventRoom is the smallest capacity of a call's channel.
const minEventRoom = 4

// submit accepts or refuses a call. It runs no foreign code: the detokeniser comes later.
func (c *Core) submit(now time.Duration, m *messages.SubmitRequests, out *messages.Outbox) {
	t := c.table
	invariants.Check(cap(m.Events) >= minEventRoom, "the channel of call %d holds %d events, want at least %d", m.Call, cap(m.Events), minEventRoom)
	if t.calls[m.Call] != nil { // delivered again after a crash that followed the commit
		out.Record(messages.StaleMessages, 1)
		return
	}
	displaced, refused := t.refusal(m)
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
		t.startWaiting(e)
		if e.place == placeWaiting {
			c.fresh = append(c.fresh, e)
		}
	}
	out.Record(messages.RequestsTotal, float64(len(ids)))
	c.wakeAt(now, t.deadline(k.entries[0]), out) // the same for all of them
	for _, e := range displaced {
		c.giveUp(now, e, messages.RefusedBusy,
			"the request was removed from the waiting queue for one of higher priority (max-queued-requests); send it again later", out)
	}
}

// newEntry makes an entry without adding it to the table.
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

// resume delivers more output after the client has drained its channel.
func (c *Core) resume(id messages.CallID) {
	if k := c.table.calls[id]; k != nil {
		k.paused = false
		c.deliverCall(k)
	}
}

func (c *Core) abort(now time.Duration, m *messages.AbortRequests, out *messages.Outbox) {
	calls := c.table.named(m)
	f := messages.Finish{Reason: messages.FinishAbort, MatchedToken: -1, Message: "the request was aborted"}
	if m.ShuttingDown {
		f = messages.Finish{Reason: messages.FinishError, Kind: messages.RefusedDraining, MatchedToken: -1, RetryAfterSeconds: 1,
			Message: "the server shut down before the request was finished; send it to another server"}
	}
	for _, k := range calls {
		c.endCall(now, k, f, out)
	}
	for _, k := range calls {
		c.deliverCall(k)
	}
}

func (c *Core) endCall(now time.Duration, k *call, f messages.Finish, out *messages.Outbox) {
	for _, e := range k.entries {
		c.endEarly(now, e, f, out)
	}
}

// dropCall ends the requests of a client that has disconnected. Its UserID is free at once.
func (c *Core) dropCall(now time.Duration, id messages.CallID, out *messages.Outbox) {
	k := c.table.calls[id]
	if k == nil {
		return
	}
	c.endCall(now, k, messages.Finish{Reason: messages.FinishAbort, MatchedToken: -1, Message: "the client has disconnected"}, out)
	k.disconnected = true
	c.table.closeCall(k)
	for _, e := range k.entries {
		e.forgetReady()
		c.table.drop(e)
	}
}

// named lists the open calls that an abort names, by id.
func (t *Table) named(m *messages.AbortRequests) []*call {
	switch {
	case m.All:
		return byID(t.calls)
	case m.UserID == "":
		return nil // a call without a name cannot be named
	case m.AnyOwner: // several clients may use one name
		var list []*call
		for user, k := range t.users {
			if user.id == m.UserID {
				list = append(list, k)
			}
		}
		slices.SortFunc(list, func(a, b *call) int { return cmp.Compare(a.id, b.id) })
		return list
	}
	if k := t.users[userKey{m.Owner, m.UserID}]; k != nil {
		return []*call{k}
	}
	return nil
}
