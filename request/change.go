package request

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// byToken: the last token is an end token.
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

// computeEnd computes the end of a released entry, unless a token has ended it.
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

// streamAt takes an entry's stream after n tokens from the entry. It rebuilds the stream
// from the accepted tokens if there is none or a panic has interrupted its use. Copying
// it would cost time for each token.
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

// commitPrompt keeps the first report about a prompt, and returns the number of the
// prompt's tokens; 0 for another report.
func (c *Core) commitPrompt(r *messages.PromptResult, out *messages.Outbox) int {
	e := c.table.entries[r.ID]
	if e == nil || e.prompted {
		return 0
	}
	e.prompted, e.cached, e.logprobs = true, r.CachedTokens, r.Logprobs
	out.Record(messages.PromptTokens, float64(len(e.sub.Prompt)))
	out.Record(messages.CachedTokens, float64(r.CachedTokens))
	return len(e.sub.Prompt)
}

// commit applies a computed change. It cannot fail. It drops the change and reports false
// if the output has ended before, for example at a stop string in the same message.
func (c *Core) commit(now time.Duration, ch *change, out *messages.Outbox) bool {
	e := ch.e
	if e.finish != nil {
		return false
	}
	n, offset := len(e.output), e.final+len(e.held)
	if ch.hasToken {
		n++
	}
	armed := n > e.params.MinTokens
	step := e.stops.advance(e.stop, e.held, ch.text, armed, e.sub.KeepStop)
	if ch.end != 0 && step.matched < 0 { // the text that was held back is final now
		before := step.final
		step = e.stops.advance(step.state, step.held, ch.rest, armed, e.sub.KeepStop)
		step.final, step.held = before+step.final+step.held, ""
	}
	over := ch.end != 0 || step.matched >= 0
	e.stop, e.held = step.state, step.held
	e.text.add(step.final)
	e.final += len(step.final)
	if ch.hasToken {
		c.commitToken(now, ch, offset, out)
	}
	e.releaseTokens(over)
	if !over {
		return true
	}
	f := messages.Finish{Reason: messages.FinishStop, MatchedToken: -1}
	switch {
	case step.matched >= 0:
		f.MatchedStop = e.stops.stops[step.matched]
	case byToken(ch.end):
		f.MatchedToken = ch.token
	case ch.end == messages.EndFailed:
		f.Reason, f.Kind, f.Message = messages.FinishError, messages.RefusedInvalid, ch.why
	default:
		f.Reason = messages.FinishLength
	}
	e.endsItself = ch.end != 0
	c.finish(now, e, f, out)
	return true
}

// commitToken appends an accepted token, whose text begins at an offset of the whole
// text. Progress clears the suspicion.
func (c *Core) commitToken(now time.Duration, ch *change, offset int, out *messages.Outbox) {
	e := ch.e
	e.suspicion = 0
	e.output = append(e.output, ch.token)
	e.heldTokens = append(e.heldTokens, heldToken{
		OutputToken: messages.OutputToken{Token: ch.token, Logprobs: ch.logprobs, TextOffset: offset},
		end:         e.final + len(e.held)})
	if len(e.output) == 1 {
		out.Record(messages.TimeToFirstToken, (now - e.arrived).Seconds())
		c.table.unqueue(e)
		c.table.admitted(e)
		c.releaseFollowers(e)
	} else {
		out.Record(messages.InterTokenLatency, (now - e.lastToken).Seconds())
	}
	c.table.output++
	e.lastToken = now
}
