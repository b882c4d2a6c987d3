package request

import "github.com/troupe-engine/troupe/messages"

// byToken reports whether the last token is an end token.
func byToken(r messages.EndReason) bool {
	return r == messages.EndEOS || r == messages.EndStopToken
}

// computeToken computes what a token changes. Of the entry itself it changes only
// the stream, which it takes away; see takeStream. A token after the end of the
// output, by the engine or by a stop string, changes nothing.
func (c *Core) computeToken(r *messages.TokenResult) {
	e := c.table.entries[r.ID]
	if e.finish != nil {
		return
	}
	if before := c.changeOf(e); before != nil && before.over() {
		return
	}
	c.current = e
	ch := c.addChange(e)
	ch.n++
	ch.hasToken, ch.token, ch.logprobs = true, r.Token, r.Logprobs
	ch.end = e.params.EndOf(r.Token, ch.n)
	if ch.stream == nil {
		ch.stream = c.takeStream(e)
	}
	piece := ""
	if !byToken(ch.end) || e.sub.KeepStop {
		piece = ch.stream.Push(r.Token)
	}
	armed := ch.n > e.params.MinTokens
	ch.text = e.stops.advance(ch.text.state, ch.text.held, piece, armed, e.sub.KeepStop)
	if ch.end != 0 {
		ch.close(armed)
	}
}

// computeEnd computes the end of an entry that the engine released, if it does not
// follow from a token.
func (c *Core) computeEnd(r *messages.RequestEnded) {
	e := c.table.entries[r.ID]
	if e == nil || e.finish != nil || e.place != placeEngine {
		return
	}
	c.current = e
	ch := c.changeOf(e)
	switch {
	case ch == nil:
		ch = c.addChange(e)
		if ch.token = r.Token; ch.n > 0 {
			ch.stream = c.takeStream(e)
		}
	case ch.over():
		return
	}
	ch.end, ch.why = r.Reason, r.Why
	ch.close(ch.n > e.params.MinTokens)
}

// changeOf is the newest change of an entry in this call, or nil.
func (c *Core) changeOf(e *entry) *change {
	if i := e.staging - 1; i >= 0 && i < len(c.changes) && c.changes[i].e == e {
		return &c.changes[i]
	}
	return nil
}

// addChange appends a change that continues from the entry's last change in this
// call, or else from the entry. The memory of the list is reused.
func (c *Core) addChange(e *entry) *change {
	next := change{e: e, n: len(e.output), start: e.final, text: stopStep{state: e.stop, held: e.held, matched: -1}}
	if before := c.changeOf(e); before != nil {
		next.n, next.start, next.stream = before.n, before.start+len(before.text.final), before.stream
		next.text = stopStep{state: before.text.state, held: before.text.held, matched: -1}
	}
	next.offset = next.start + len(next.text.held)
	c.changes = append(c.changes, next)
	e.staging = len(c.changes)
	return &c.changes[len(c.changes)-1]
}

// takeStream takes an entry's stream until the change is committed. After a panic
// the entry has none, and the next call rebuilds it from the accepted tokens.
// Unlike a copy, this costs nothing per token.
func (c *Core) takeStream(e *entry) Stream {
	s := e.stream
	e.stream = nil
	if s == nil {
		s = c.detok.NewStream(e.sub.Prompt, e.sub.KeepSpecial, e.sub.Continues)
		for _, id := range e.output {
			s.Push(id)
		}
	}
	return s
}
