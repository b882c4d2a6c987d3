package request

import "github.com/troupe-engine/troupe/messages"

// byToken reports whether the last token is an end token.
func byToken(r messages.EndReason) bool {
	return r == messages.EndEOS || r == messages.EndStopToken
}

// computeToken computes what a token changes. It changes nothing itself but
// that the entry's stream is taken away, see takeStream.
func (c *Core) computeToken(r *messages.TokenResult) {
	e := c.table.entries[r.ID]
	if e.finish != nil {
		return // after the end
	}
	c.current = e
	n := len(e.output) + 1
	ch := c.addChange(e)
	ch.hasToken, ch.token, ch.logprobs = true, r.Token, r.Logprobs
	ch.end = e.params.EndOf(r.Token, n)
	ch.stream = c.takeStream(e)
	piece := ""
	if !byToken(ch.end) || e.sub.KeepStop {
		piece = ch.stream.Push(r.Token)
	}
	ch.text = e.stops.advance(e.stop, e.held, piece, n > e.params.MinTokens, e.sub.KeepStop)
	if ch.end != 0 {
		ch.close(n > e.params.MinTokens)
	}
}

// computeEnd computes the end of an entry that the engine released without a
// token from which the end follows.
func (c *Core) computeEnd(r *messages.RequestEnded) {
	e := c.table.entries[r.ID]
	if e == nil || e.finish != nil || e.place != placeEngine {
		return
	}
	c.current = e
	if i := e.staging - 1; i >= 0 && i < len(c.changes) && c.changes[i].e == e {
		ch := &c.changes[i]
		if ch.end == 0 && ch.text.matched < 0 {
			ch.end = r.Reason
			ch.close(len(e.output)+1 > e.params.MinTokens)
		}
		return
	}
	ch := c.addChange(e)
	ch.token, ch.end = r.Token, r.Reason
	ch.text = stopStep{state: e.stop, held: e.held, matched: -1}
	if len(e.output) > 0 {
		ch.stream = c.takeStream(e)
	}
	ch.close(len(e.output) > e.params.MinTokens)
}

// addChange appends a change, reusing the list's memory.
func (c *Core) addChange(e *entry) *change {
	c.changes = append(c.changes, change{e: e, offset: e.final + len(e.held)})
	e.staging = len(c.changes)
	return &c.changes[len(c.changes)-1]
}

// close ends the text: what is left of an unfinished character, then what was
// held back, unless a stop string turns up in it.
func (ch *change) close(armed bool) {
	if ch.text.matched >= 0 {
		return
	}
	rest := ""
	if ch.stream != nil {
		rest = ch.stream.Flush()
	}
	before := ch.text.final
	ch.text = ch.e.stops.advance(ch.text.state, ch.text.held, rest, armed, ch.e.sub.KeepStop)
	ch.text.final = before + ch.text.final + ch.text.held
	ch.text.held = ""
}

// takeStream takes an entry's stream away until the change is committed: if
// anything panics before, the entry has none, and the next taker makes it again
// from the accepted tokens. That costs nothing per token, where a copy would.
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
