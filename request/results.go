package request

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// takeResults compares the results of one step with the table, computes the change of
// every entry, then commits and delivers. It reports whether the message was accepted.
func (c *Core) takeResults(now time.Duration, m *messages.StepResults, out *messages.Outbox) bool {
	t := c.table
	if !t.engine.expects(m) {
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

	t.engine.seq = m.Seq
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
		ch := &c.changes[i]
		c.commit(now, ch, out)
		if ch.hasToken {
			accepted++
			ch.e.fingerprint = m.Fingerprint
		}
	}
	for i := range m.Ended {
		if e := t.entries[m.Ended[i].ID]; e != nil && e.place == placeEngine {
			e.become(placeNone)
		}
	}
	c.cancelEnded(m)
	if prompts+accepted > 0 {
		t.throughput.addWork(now, work(prompts, float64(accepted)))
	}
	if accepted > 0 {
		out.Record(messages.GenerationTokens, float64(accepted))
	}
	for i := range c.changes {
		c.deliver(c.changes[i].e) // with all of its changes
	}
	for i := range m.Ended {
		if e := t.entries[m.Ended[i].ID]; e != nil {
			t.drop(e)
		}
	}
	return true
}

// contradiction is why a message contradicts the table; "" if it does not. It changes
// nothing that counts, so a contradiction costs an epoch but no token.
func (t *Table) contradiction(m *messages.StepResults) string {
	if m.Seq != t.engine.seq+1 {
		return fmt.Sprintf("they came after message %d; messages were lost or repeated", t.engine.seq)
	}
	t.compared++
	for i := range m.Tokens {
		r := &m.Tokens[i]
		e := t.entries[r.ID]
		if e == nil || e.place != placeEngine {
			return fmt.Sprintf("the token at position %d belongs to request %d, which is not in the engine", r.Position, r.ID)
		}
		if e.compared != t.compared {
			e.compared, e.brought = t.compared, 0
		}
		if known := len(e.output) + e.brought; e.finish == nil && r.Position != known {
			return fmt.Sprintf("request %d got the token at position %d, but has %d tokens", r.ID, r.Position, known)
		}
		e.brought++
		if r.Token < 0 || int(r.Token) >= t.opt.Vocab {
			return fmt.Sprintf("request %d got token %d, which is outside the vocabulary", r.ID, r.Token)
		}
	}
	for i := range m.Ended {
		r := &m.Ended[i]
		e := t.entries[r.ID]
		if e == nil || e.place != placeEngine || e.finish != nil || byToken(r.Reason) ||
			r.Reason == messages.EndLength || r.Reason >= messages.EndFailed {
			continue
		}
		return fmt.Sprintf("the engine released request %d (%s), which was not cancelled", r.ID, r.Reason)
	}
	return ""
}

// cancelEnded has the engine release what intake has ended, for example at a stop string.
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
		// If another token comes after its end, the request is cancelled.
		e.endsItself = false
	}
}
