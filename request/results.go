package request

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// change is what one token, or an end without one, changes in an entry, computed
// ahead. Several tokens of a request in one message are changes that follow each
// other.
type change struct {
	e        *entry
	n        int // output tokens with this one
	hasToken bool
	token    int32
	logprobs *messages.PositionLogprobs
	start    int // final text before it, in bytes
	offset   int // where the token's text starts in the whole text
	stream   Stream
	text     stopStep
	end      messages.EndReason // 0: goes on
	why      string             // for EndFailed
}

// over reports whether the output ends with this change.
func (ch *change) over() bool { return ch.end != 0 || ch.text.matched >= 0 }

// takeResults takes what one step brought, in three parts: compare it with the
// table, compute every entry's change, commit and deliver. It reports whether
// the message counted.
func (c *Core) takeResults(now time.Duration, m *messages.StepResults, out *messages.Outbox) bool {
	t := c.table
	if m.Header != t.engine || !t.standing || t.broken || m.Seq <= t.seq {
		out.Record(messages.StaleMessages, 1)
		return false
	}
	if cause := t.contradiction(m); cause != "" {
		c.failEpoch(out, "step results %d: %s", m.Seq, cause)
		return false
	}
	for i := range m.Tokens {
		c.computeToken(&m.Tokens[i])
	}
	for i := range m.Ended {
		c.computeEnd(&m.Ended[i])
	}
	c.current = nil

	t.seq = m.Seq
	for _, id := range m.Admitted {
		if e := t.entries[id]; e != nil {
			t.admitted(e)
		}
	}
	prompts, accepted := 0, 0
	for i := range m.Prompts {
		prompts += c.commitPrompt(&m.Prompts[i], out)
	}
	for i := range c.changes {
		c.commit(now, &c.changes[i], out)
		if c.changes[i].hasToken {
			accepted++
		}
	}
	for i := range m.Ended {
		if e := t.entries[m.Ended[i].ID]; e != nil && e.place == placeEngine {
			e.become(placeNone)
		}
	}
	c.cancelEnded(m)
	if prompts+accepted > 0 {
		t.pace.brought(now, work(prompts, float64(accepted)))
	}
	if accepted > 0 {
		out.Record(messages.GenerationTokens, float64(accepted))
	}
	for i := range c.changes {
		if e := c.changes[i].e; e.staging == i+1 { // its last change
			c.emit(e)
			t.settle(e)
		}
	}
	for i := range m.Ended {
		if e := t.entries[m.Ended[i].ID]; e != nil {
			t.settle(e)
		}
	}
	return true
}

// contradiction is why a message cannot follow what the table knows; "" if it
// can. Found before anything of it counts, it costs an epoch and no token.
func (t *Table) contradiction(m *messages.StepResults) string {
	if m.Seq != t.seq+1 {
		return fmt.Sprintf("they follow %d; what came between is lost", t.seq)
	}
	t.compared++
	for i := range m.Tokens {
		r := &m.Tokens[i]
		e := t.entries[r.ID]
		if e == nil || e.place != placeEngine {
			return fmt.Sprintf("token %d is for request %d, which is not in the engine", r.Position, r.ID)
		}
		if e.compared != t.compared {
			e.compared, e.brought = t.compared, 0
		}
		if known := len(e.output) + e.brought; e.finish == nil && r.Position != known {
			return fmt.Sprintf("request %d got token %d after %d tokens", r.ID, r.Position, known)
		}
		e.brought++
		if r.Token < 0 || int(r.Token) >= t.opt.Vocab {
			return fmt.Sprintf("request %d got token %d, outside the vocabulary", r.ID, r.Token)
		}
	}
	for i := range m.Ended {
		r := &m.Ended[i]
		e := t.entries[r.ID]
		if e == nil || e.place != placeEngine || e.finish != nil || byToken(r.Reason) || r.Reason == messages.EndLength || r.Reason == messages.EndFailed {
			continue
		}
		return fmt.Sprintf("request %d was released as %s, which nobody asked for", r.ID, r.Reason)
	}
	return ""
}

// cancelEnded asks the engine to let go of requests whose end came from here
// and that are still in it.
func (c *Core) cancelEnded(m *messages.StepResults) {
	for i := range m.Tokens {
		id := m.Tokens[i].ID
		if i+1 < len(m.Tokens) && m.Tokens[i+1].ID == id {
			continue // its last token counts
		}
		e := c.table.entries[id]
		if e.finish != nil && e.place == placeEngine && !e.endsItself {
			c.cancel(e)
		}
		// A token after the engine's own end: from now on it is told.
		e.endsItself = false
	}
}
