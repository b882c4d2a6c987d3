package request

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// refusal is why a call is not accepted, or else the waiting requests that make room.
func (t *Table) refusal(m *messages.SubmitRequests) (displaced []*entry, refused *messages.CallRefused) {
	if t.draining {
		return nil, &messages.CallRefused{Kind: messages.RefusedDraining, Message: "the server is shutting down; send the request to another server", Loggable: true, Code: "shutting_down"}
	}
	if bad := t.validateCall(m); bad != nil {
		return nil, bad
	}
	if m.UserID != "" && t.users[userKey{m.Owner, m.UserID}] != nil {
		return nil, &messages.CallRefused{Kind: messages.RefusedDuplicate, Param: "rid", Code: "duplicate_request_id",
			Message: fmt.Sprintf("Duplicate request ID %q: an open request uses it; wait until that request ends, or choose another id", m.UserID)}
	}
	if over := len(t.entries) + len(m.Requests) - t.opt.MaxOpenRequests; over > 0 {
		return nil, t.busy(&m.Requests[0], over, fmt.Sprintf("%d requests are open and this call has %d more, but at most %d may be open (max-open-requests)",
			len(t.entries), len(m.Requests), t.opt.MaxOpenRequests))
	}
	if t.opt.MaxQueuedTokens > 0 && t.queuedTokens > 0 {
		tokens := 0
		for i := range m.Requests {
			tokens += len(m.Requests[i].Prompt)
		}
		if t.queuedTokens+tokens > t.opt.MaxQueuedTokens {
			return nil, t.busy(&m.Requests[0], len(m.Requests), fmt.Sprintf("%d prompt tokens are waiting and this call has %d more, but at most %d may wait (max-queued-tokens)",
				t.queuedTokens, tokens, t.opt.MaxQueuedTokens))
		}
	}
	if refused := t.waitTooLong(m); refused != nil {
		return nil, refused
	}
	return t.roomInQueue(m)
}

// roomInQueue is refusal as far as the waiting queue is concerned.
func (t *Table) roomInQueue(m *messages.SubmitRequests) (displaced []*entry, refused *messages.CallRefused) {
	over := t.backlog.requests + len(m.Requests) - t.opt.MaxQueuedRequests
	if t.opt.MaxQueuedRequests == 0 || over <= 0 {
		return nil, nil
	}
	if t.opt.Displace {
		if lower := t.lowerThan(m); len(lower) >= over {
			return lower[:over], nil
		}
	}
	return nil, t.busy(&m.Requests[0], over, fmt.Sprintf("%d requests are waiting and this call has %d more, but at most %d may wait (max-queued-requests)",
		t.backlog.requests, len(m.Requests), t.opt.MaxQueuedRequests))
}

// lowerThan lists the waiting requests with a lower priority than every request
// of a call: the lowest priority first, and of equal ones the latest.
func (t *Table) lowerThan(m *messages.SubmitRequests) []*entry {
	least := t.opt.rank(m.Requests[0].Priority)
	for i := range m.Requests {
		least = min(least, t.opt.rank(m.Requests[i].Priority))
	}
	var lower []*entry
	for _, e := range t.entries {
		if e.waits && t.opt.rank(e.sub.Priority) < least {
			lower = append(lower, e)
		}
	}
	slices.SortFunc(lower, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(t.opt.rank(a.sub.Priority), t.opt.rank(b.sub.Priority)), cmp.Compare(b.id, a.id))
	})
	return lower
}

func (t *Table) waitTooLong(m *messages.SubmitRequests) *messages.CallRefused {
	s, most := &m.Requests[0], t.opt.Patience()
	wait := t.wait(s)
	if most == 0 || wait <= most {
		return nil
	}
	return t.busy(s, 1, fmt.Sprintf("%d requests are waiting and a new one would wait about %s, but at most %s is accepted (half of queue-timeout)",
		t.backlog.requests, wait.Round(time.Second), most))
}

// busy refuses a call for now. excess is how many requests must end before it fits.
func (t *Table) busy(s *messages.Submission, excess int, message string) *messages.CallRefused {
	pause := t.pause(s, excess)
	return &messages.CallRefused{Kind: messages.RefusedBusy, Loggable: true, Message: fmt.Sprintf("%s; send it again in %d s", message, pause),
		Code: "rate_limit_exceeded", RetryAfterSeconds: pause}
}

// longestPause is the largest Retry-After in seconds: longer estimates are too rough.
const longestPause = 600

// pause is after how many seconds a client should try again: when a new request would
// be admitted, and excess requests have ended.
func (t *Table) pause(s *messages.Submission, excess int) int {
	wait := max(t.wait(s), t.timeFor(excess))
	return int(min(max(math.Ceil(wait.Seconds()), 1), longestPause))
}
