package request

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// retryUnavailable is when a client should try again that no engine could serve, in
// seconds: how long an engine needs to restart.
const retryUnavailable = 10

// byToken: the last token is an end token.
func byToken(r messages.EndReason) bool {
	return r == messages.EndEOS || r == messages.EndStopToken
}

// computeToken computes what a token changes. Of the entry it changes only the stream.
// Tokens after the end of the output change nothing.
func (c *Core) computeToken(r *messages.TokenResult) {
	e := c.table.entries[r.ID]
	if before := c.changeOf(e); e.finish != nil || before != nil && before.over() {
		return
	}
	c.current = e
	ch := change{e: e, hasToken: true, token: r.Token, logprobs: r.Logprobs, end: e.params.EndOf(r.Token, r.Position+1)}
	s, piece, rest := c.streamAt(e, r.Position), "", ""
	if !byToken(ch.end) || e.sub.KeepStop {
		piece = s.Push(r.Token)
	}
	if ch.end != 0 {
		rest = s.Flush()
	}
	if over := c.add(ch, r.Position+1, piece, rest); !over {
		e.stream, e.pushed = s, r.Position+1
	}
}

// computeEnd computes the end of a released entry, unless a token has ended it.
func (c *Core) computeEnd(r *messages.RequestEnded) {
	t := c.table
	e := t.entries[r.ID]
	if e == nil || e.finish != nil || e.place != placeEngine {
		return
	}
	if before := c.changeOf(e); before != nil && before.over() {
		return
	}
	c.current = e
	n, rest := len(e.output), ""
	if e.compared == t.compared {
		n += e.brought
	}
	if n > 0 {
		rest = c.streamAt(e, n).Flush()
	}
	c.add(change{e: e, token: r.Token, end: r.Reason, why: r.Why}, n, "", rest)
}

// changeOf is the newest change of an entry in this call, or nil.
func (c *Core) changeOf(e *entry) *change {
	if i := e.staged - 1; i >= 0 && i < len(c.changes) && c.changes[i].e == e {
		return &c.changes[i]
	}
	return nil
}

// add completes a change with its text and appends it. The text is piece, and at the end
// also rest; n is the number of output tokens. It continues from the entry's change
// before it. It reports whether the output is over.
func (c *Core) add(ch change, n int, piece, rest string) (over bool) {
	e := ch.e
	from := stopStep{state: e.stop, held: e.held}
	if before := c.changeOf(e); before != nil {
		from = before.text
	}
	armed, keep := n > e.params.MinTokens, e.sub.KeepStop
	ch.text = e.stops.advance(from.state, from.held, piece, armed, keep)
	if ch.end != 0 && ch.text.matched < 0 { // the text that was held back is final now
		final := ch.text.final
		ch.text = e.stops.advance(ch.text.state, ch.text.held, rest, armed, keep)
		ch.text.final, ch.text.held = final+ch.text.final+ch.text.held, ""
	}
	c.changes = append(c.changes, ch)
	e.staged = len(c.changes)
	return ch.over()
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

// commitPrompt keeps a prompt's first report and returns its length; 0 for another one.
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

// commit applies a computed change. It cannot fail.
func (c *Core) commit(now time.Duration, ch *change, out *messages.Outbox) {
	e := ch.e
	offset := e.final + len(e.held)
	e.stop, e.held = ch.text.state, ch.text.held
	e.text.add(ch.text.final)
	e.final += len(ch.text.final)
	if ch.hasToken {
		c.commitToken(now, ch, offset, out)
	}
	e.releaseTokens(ch.over())
	if !ch.over() {
		return
	}
	f := messages.Finish{Reason: messages.FinishStop, MatchedToken: -1}
	switch {
	case ch.text.matched >= 0:
		f.MatchedStop = e.stops.stops[ch.text.matched]
	case byToken(ch.end):
		f.MatchedToken = ch.token
	case ch.end == messages.EndFailed:
		f.Reason, f.Kind, f.Message = messages.FinishError, messages.RefusedInvalid, ch.why
	case ch.end == messages.EndGrammar:
		f.Reason, f.Kind, f.Message = messages.FinishError, messages.RefusedGrammar, ch.why
	case ch.end == messages.EndInternal:
		f.Reason, f.Kind, f.Message = messages.FinishError, messages.RefusedInternal, ch.why
	case ch.end == messages.EndUnavailable:
		f.Reason, f.Kind, f.Message, f.RetryAfterSeconds = messages.FinishError, messages.RefusedUnavailable, ch.why, retryUnavailable
	default:
		f.Reason = messages.FinishLength
	}
	e.endsItself = ch.end != 0
	c.finish(now, e, f, out)
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
	if e.moved {
		pause := now - e.lastToken
		if len(e.output) == 1 {
			pause = 0
		}
		c.table.moves.goOn(e, pause, out)
	}
	c.table.output++
	e.lastToken = now
}
