package request

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// commitPrompt keeps the first report about a prompt, and gives the tokens of it
// if it is the first.
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

// commit makes a computed change real. Nothing in it can fail.
func (c *Core) commit(now time.Duration, ch *change, out *messages.Outbox) {
	e := ch.e
	e.stream, e.stop, e.held = ch.stream, ch.text.state, ch.text.held
	e.text.add(ch.text.final)
	e.final += len(ch.text.final)
	if ch.hasToken {
		c.commitToken(now, ch, out)
	}
	e.releaseTokens(ch.over())
	if !ch.over() {
		return
	}
	f := &messages.Finish{Reason: messages.FinishStop, MatchedToken: -1}
	switch {
	case ch.text.matched >= 0:
		f.MatchedStop = e.stops.stops[ch.text.matched]
	case byToken(ch.end):
		f.MatchedToken = ch.token
	case ch.end == messages.EndFailed:
		f.Reason, f.Kind, f.Message = messages.FinishError, messages.RefusedInvalid, ch.why
	default:
		f.Reason = messages.FinishLength
	}
	e.endsItself = ch.end != 0
	c.fixEnd(now, e, f, out)
}

// commitToken appends an accepted token; progress clears every suspicion.
func (c *Core) commitToken(now time.Duration, ch *change, out *messages.Outbox) {
	e := ch.e
	e.suspicion = 0
	e.output = append(e.output, ch.token)
	e.heldTokens = append(e.heldTokens, heldToken{
		OutputToken: messages.OutputToken{Token: ch.token, Logprobs: ch.logprobs, TextOffset: ch.offset},
		end:         e.final + len(e.held)})
	if len(e.output) == 1 {
		out.Record(messages.TimeToFirstToken, (now - e.arrived).Seconds())
		c.table.unqueue(e)
		c.table.admitted(e)
		c.releaseFollowers(e)
	} else {
		out.Record(messages.InterTokenLatency, (now - e.lastToken).Seconds())
	}
	c.table.noteToken()
	e.lastToken = now
}

// releaseTokens moves the tokens whose text is final to those for delivery, at
// the end all of them, with offsets inside the text that is shown.
func (e *entry) releaseTokens(all bool) {
	n := 0
	for n < len(e.heldTokens) && (all || e.heldTokens[n].end <= e.final) {
		t := e.heldTokens[n].OutputToken
		t.TextOffset = min(t.TextOffset, e.final)
		e.ready = append(e.ready, t)
		n++
	}
	rest := copy(e.heldTokens, e.heldTokens[n:])
	clear(e.heldTokens[rest:])
	e.heldTokens = e.heldTokens[:rest]
}

// releaseFollowers lets the requests into the engine that waited for this
// one's first token.
func (c *Core) releaseFollowers(e *entry) {
	for _, f := range e.call.entries {
		if f.place == placeHeld && f.sub.After == e.index {
			f.become(placeWaiting)
			c.fresh = append(c.fresh, f)
		}
	}
}

// fixEnd writes the client's end of a request, once.
func (c *Core) fixEnd(now time.Duration, e *entry, f *messages.Finish, out *messages.Outbox) {
	t := c.table
	t.unqueue(e)
	t.noteEnd(e)
	if f.Reason == messages.FinishAbort || f.Reason == messages.FinishError {
		e.text.add(e.held)
		e.final += len(e.held)
		e.held = ""
		e.releaseTokens(true)
	}
	e.finish = f
	e.usage = e.usageNow()
	e.stream, e.stops = nil, nil
	if e.place == placeHeld || e.place == placeWaiting {
		e.become(placeNone)
	}
	c.releaseFollowers(e)
	out.Record(messages.RequestLatency, (now - e.arrived).Seconds())
	switch f.Reason {
	case messages.FinishAbort:
		out.Record(messages.RequestsAborted, 1)
	case messages.FinishError:
		switch f.Kind {
		case messages.RefusedTimeout:
			out.Record(messages.RequestsTimedOut, 1)
		case messages.RefusedBusy:
			out.Record(messages.RequestsOusted, 1)
		case messages.RefusedDraining:
			out.Record(messages.RequestsAborted, 1)
		default:
			out.Record(messages.RequestsFailed, 1)
		}
	}
}

// usageNow counts a request's tokens so far.
func (e *entry) usageNow() messages.Usage {
	return messages.Usage{PromptTokens: len(e.sub.Prompt), CompletionTokens: len(e.output), CachedTokens: e.cached}
}
