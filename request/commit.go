package request

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// commitPrompt keeps the first report about a prompt. It returns the number of
// the prompt's tokens, 0 for a repeated report.
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

// commit applies a computed change. Nothing in it can fail.
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
	c.finish(now, e, f, out)
}

// commitToken appends an accepted token. Progress clears the suspicion.
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
	c.table.output++
	e.lastToken = now
}
