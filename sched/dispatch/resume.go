package dispatch

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// begin is called with the first message. With a limit, intake submits at once, also
// while no engine is up, so that it applies to all requests.
func (c *Core) begin(msg messages.ToDispatch, out *messages.Outbox) {
	c.begun, c.down = true, c.now
	if _, over := msg.(*messages.FailEpoch); c.opt.ResumeWait > 0 && !over {
		c.start(out)
	}
}

func (c *Core) anyUp() bool {
	return slices.ContainsFunc(c.engines, func(e engine) bool { return e.up })
}

// expire ends the held requests that no engine that is up can take, and could not for
// ResumeWait. One that waits only because of a quarantined request has no such limit.
func (c *Core) expire(out *messages.Outbox) {
	if c.opt.ResumeWait == 0 || len(c.held) == 0 {
		return
	}
	up, next := c.anyUp(), time.Duration(math.MaxInt64)
	var ended []messages.RequestEnded
	c.held = slices.DeleteFunc(c.held, func(r *messages.EngineRequest) bool {
		if up && slices.ContainsFunc(c.engines, func(e engine) bool { return e.up && e.fits(r) }) {
			delete(c.since, r.ID)
			return false
		}
		since, ok := c.since[r.ID]
		if !ok {
			if since = c.now; !up {
				since = c.down
			}
			c.since[r.ID] = since
		}
		due := since + c.opt.ResumeWait
		if c.now < due {
			next = min(next, due)
			return false
		}
		delete(c.since, r.ID)
		ended = append(ended, messages.RequestEnded{ID: r.ID, Reason: messages.EndUnavailable, Why: c.unavailable(r, up)})
		return true
	})
	if len(ended) > 0 {
		c.seq++
		out.ToIntake(&messages.StepResults{Header: c.own, Seq: c.seq, Ended: ended})
	}
	if next < math.MaxInt64 && (c.alarm == 0 || next < c.alarm) {
		c.alarm = next
		out.After(next-c.now, &messages.ResumeDue{At: next})
	}
}

// unavailable says why a request ends that no engine could take.
func (c *Core) unavailable(r *messages.EngineRequest, up bool) string {
	engine := "engine of this model"
	switch {
	case up && len(r.Output) > 0:
		engine = fmt.Sprintf("engine with the fingerprint %q that began this answer", r.Fingerprint)
	case up:
		engine = fmt.Sprintf("engine whose KV pool holds %d tokens", len(r.Prompt)+r.Params.MaxTokens)
	}
	return fmt.Sprintf("no %s has been available for %s (cluster-resume-wait); send the request again later", engine, c.opt.ResumeWait)
}

func (c *Core) resumeDue(m *messages.ResumeDue, out *messages.Outbox) {
	if m.At == c.alarm {
		c.alarm = 0
		c.expire(out)
	}
}
