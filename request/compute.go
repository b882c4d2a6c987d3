package request

import "github.com/troupe-engine/troupe/messages"

// byToken reports whether the last token is an end token.
func byToken(r messages.EndReason) bool {
	return r == messages.EndEOS || r == messages.EndStopToken
}

// computeToken computes the text of a token. Of the entry it changes only the stream.
func (c *Core) computeToken(r *messages.TokenResult) {
	e := c.table.entries[r.ID]
	if e.finish != nil || e.ending == c.table.compared {
		return
	}
	c.current = e
	ch := change{e: e, hasToken: true, token: r.Token, logprobs: r.Logprobs, end: e.params.EndOf(r.Token, r.Position+1)}
	s := c.streamAt(e, r.Position)
	if !byToken(ch.end) || e.sub.KeepStop {
		ch.text = s.Push(r.Token)
	}
	if ch.end != 0 {
		e.ending = c.table.compared
		ch.rest = s.Flush()
	} else {
		e.stream, e.pushed = s, r.Position+1
	}
	c.changes = append(c.changes, ch)
}

// computeEnd computes the end of an entry that the engine released, if it does not
// follow from a token.
func (c *Core) computeEnd(r *messages.RequestEnded) {
	t := c.table
	e := t.entries[r.ID]
	if e == nil || e.finish != nil || e.place != placeEngine || e.ending == t.compared {
		return
	}
	c.current = e
	ch := change{e: e, token: r.Token, end: r.Reason, why: r.Why}
	n := len(e.output)
	if e.compared == t.compared {
		n += e.brought
	}
	if n > 0 {
		ch.rest = c.streamAt(e, n).Flush()
	}
	c.changes = append(c.changes, ch)
}

// streamAt takes an entry's stream after n tokens from the entry. It rebuilds the
// stream from the accepted tokens if there is none or a panic has interrupted its use.
// Unlike copying the stream, this costs nothing per token.
func (c *Core) streamAt(e *entry, n int) Stream {
	s := e.stream
	e.stream = nil
	if s == nil || e.pushed != n {
		s = c.detok.NewStream(e.sub.Prompt, e.sub.KeepSpecial, e.sub.Continues)
		for _, id := range e.output {
			s.Push(id)
		}
	}
	return s
}
