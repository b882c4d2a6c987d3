package link

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// frameBytes bounds the tokens of a frame. Many frames can travel in one batch, whose size
// the connection bounds.
const frameBytes = 256 << 10

// outgoing sends results. The log probabilities of a long prompt are too large for a frame:
// they go in pieces, and the results of that request after them. Those of others do not
// wait. So a step may have several Results, all with numbers of their own.
type outgoing struct {
	last  uint64 // number of the newest results that were sent
	added uint64 // by how much it is above the portal's
	late  []*late
}

// late has the results of a request that wait for its pieces. The first prompt of them is
// the one whose log probabilities are in the pieces.
type late struct {
	id      messages.RequestID
	bulk    int // the last one of them
	results messages.StepResults
}

// number is what the peer sees instead of a number of the portal. A gap stays one.
func (o *outgoing) number(seq uint64) uint64 {
	o.last = seq + o.added
	return o.last
}

// send sends results of the portal.
func (o *outgoing) send(m *messages.StepResults, c *channel, out *messages.Outbox) error {
	now := *m // its lists may be shared
	now.Seq = o.number(m.Seq)
	room := wire.PieceBytes
	for i := range m.Prompts {
		p := &m.Prompts[i]
		n := wire.LogprobsBytes(p.Logprobs...)
		if n <= room {
			room -= n
			continue
		}
		waits := func(l *late) bool { return l.id == p.ID }
		if slices.ContainsFunc(o.late, waits) {
			continue // of a prompt that is computed twice, the first results count
		}
		if err := c.sendBulk(out, wire.EncodePromptLogprobs(m.Epoch, p)...); err != nil {
			return err
		}
		o.late = append(o.late, &late{id: p.ID, bulk: c.pieces.added, results: messages.StepResults{Header: m.Header, Step: m.Step}})
	}
	for _, l := range o.late {
		l.take(&now)
	}
	return o.put(&now, false, c, out)
}

// take moves the request's results out of those of a step.
func (l *late) take(m *messages.StepResults) {
	r := &l.results
	before := len(r.Prompts)
	m.Prompts = move(m.Prompts, &r.Prompts, func(p *messages.PromptResult) bool { return p.ID == l.id })
	m.Tokens = move(m.Tokens, &r.Tokens, func(t *messages.TokenResult) bool { return t.ID == l.id })
	m.Ended = move(m.Ended, &r.Ended, func(e *messages.RequestEnded) bool { return e.ID == l.id })
	for i := range r.Prompts[before:] {
		r.Prompts[before+i].Logprobs = nil
	}
}

// move appends what is chosen of a list to another one and returns the rest. It does not
// change the list.
func move[T any](list []T, to *[]T, chosen func(*T) bool) (rest []T) {
	some := false
	for i := range list {
		some = some || chosen(&list[i])
	}
	if !some {
		return list
	}
	for i := range list {
		if chosen(&list[i]) {
			*to = append(*to, list[i])
		} else {
			rest = append(rest, list[i])
		}
	}
	return rest
}

// flush sends the results whose pieces are sent.
func (o *outgoing) flush(c *channel, out *messages.Outbox) error {
	for len(o.late) > 0 && o.late[0].bulk <= c.pieces.done {
		m := &o.late[0].results
		o.late = slices.Delete(o.late, 0, 1)
		o.another(m)
		if err := o.put(m, true, c, out); err != nil {
			return err
		}
	}
	return nil
}

// another numbers results that the portal does not know.
func (o *outgoing) another(m *messages.StepResults) {
	o.added++
	o.last++
	m.Seq = o.last
}

// put sends results in as many frames as they need. apart: see late.
func (o *outgoing) put(m *messages.StepResults, apart bool, c *channel, out *messages.Outbox) error {
	for {
		part, n := *m, fitting(m.Tokens)
		if part.Tokens = m.Tokens[:n]; n < len(m.Tokens) {
			part.Ended = nil
		}
		f := wire.EncodeResults(&part)
		if apart {
			f.GetResults().Prompts[0].Apart = true
		}
		if err := c.send(f, out); err != nil || n == len(m.Tokens) {
			return err
		}
		apart, m.Admitted, m.Prompts, m.Tokens = false, nil, nil, m.Tokens[n:]
		o.another(m)
	}
}

// fitting is how many of the tokens go into a frame.
func fitting(tokens []messages.TokenResult) int {
	size := 0
	for i := range tokens {
		size += 16
		if p := tokens[i].Logprobs; p != nil {
			size += wire.LogprobsBytes(*p)
		}
		if size > frameBytes && i > 0 {
			return i
		}
	}
	return len(tokens)
}

// lost forgets requests that the engine has lost.
func (o *outgoing) lost(ids []messages.RequestID) {
	o.late = slices.DeleteFunc(o.late, func(l *late) bool { return slices.Contains(ids, l.id) })
}

// scores are log probabilities of prompts that have come before the results that they
// belong to.
type scores map[messages.RequestID][]messages.PositionLogprobs

// add appends a part of them.
func (s scores) add(p *wire.PromptLogprobs, l *wire.Limits) error {
	id := messages.RequestID(p.GetId())
	have := s[id]
	if p.GetFrom() == 0 { // of a prompt that is computed again
		have = nil
	} else if have == nil { // the engine has lost the request, and its first parts with it
		return nil
	}
	if p.GetFrom() != uint64(len(have)) || len(have)+len(p.GetLogprobs()) > l.Context {
		return fmt.Errorf("%d log probabilities of the prompt of request %d begin at %d, after %d", len(p.GetLogprobs()), id, p.GetFrom(), len(have))
	}
	list, err := wire.DecodePromptLogprobs(p, l)
	if err != nil {
		return err
	}
	s[id] = append(have, list...)
	return nil
}

// attach completes the results that r was decoded to.
func (s scores) attach(r *wire.Results, m *messages.StepResults) error {
	for i, p := range r.GetPrompts() {
		if !p.GetApart() {
			continue
		}
		id := m.Prompts[i].ID
		list, ok := s[id]
		if !ok || len(p.GetLogprobs()) > 0 {
			return fmt.Errorf("the log probabilities of the prompt of request %d have not come before its results", id)
		}
		m.Prompts[i].Logprobs = list
		delete(s, id)
	}
	return nil
}
