package request

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// configure sends new limits and returns the answer.
func (r *rig) configure(change func(*messages.IntakeLimits)) string {
	r.t.Helper()
	limits := r.table.opt.Limits()
	change(&limits)
	reply := make(chan string, 1)
	if sends := r.step(&messages.ConfigureIntake{Limits: limits, Reply: reply}); len(sends) != 0 {
		r.t.Errorf("new limits cause %v", sends)
	}
	return <-reply
}

// Each limit counts for the next call, and open requests stay as they are.
func TestNewLimitsCountForLaterCalls(t *testing.T) {
	for name, c := range map[string]struct {
		lower, higher func(*messages.IntakeLimits)
		refusal       string
	}{
		"max-open-requests":   {func(l *messages.IntakeLimits) { l.MaxOpenRequests = 2 }, func(l *messages.IntakeLimits) { l.MaxOpenRequests = 3 }, "2 requests are open"},
		"max-queued-tokens":   {func(l *messages.IntakeLimits) { l.MaxQueuedTokens = 1 }, func(l *messages.IntakeLimits) { l.MaxQueuedTokens = 0 }, "prompt tokens are waiting"},
		"max-queued-requests": {func(l *messages.IntakeLimits) { l.MaxQueuedRequests = 2 }, func(l *messages.IntakeLimits) { l.MaxQueuedRequests = 0 }, "max-queued-requests"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, letters())
			r.start()
			first, _ := r.submit(1, "", submission())
			second, _ := r.submit(2, "", submission())
			if why := r.configure(c.lower); why != "" {
				t.Fatal(why)
			}
			refused, _ := r.submit(3, "", submission())
			if got := refused.read().refused; got == nil || !strings.Contains(got.Message, c.refusal) {
				t.Fatalf("beyond the new limit: %+v, want %q", got, c.refusal)
			}
			if len(first.read().finish)+len(second.read().finish) != 0 || r.table.Open() != 2 {
				t.Fatal("an open request noticed")
			}
			if why := r.configure(c.higher); why != "" {
				t.Fatal(why)
			}
			taken, _ := r.submit(4, "", submission())
			if got := taken.read().refused; got != nil {
				t.Errorf("within the next limit: %+v", got)
			}
		})
	}
}

// A request keeps the timeouts with which it was accepted, shorter or longer.
func TestOpenRequestsKeepTheirTimeouts(t *testing.T) {
	for name, set := range map[string]func(l *messages.IntakeLimits, d time.Duration){
		"queue-timeout":   func(l *messages.IntakeLimits, d time.Duration) { l.QueueTimeout = d },
		"request-timeout": func(l *messages.IntakeLimits, d time.Duration) { l.RequestTimeout = d },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, letters())
			timeout := func(d time.Duration) {
				t.Helper()
				if why := r.configure(func(l *messages.IntakeLimits) { set(l, d) }); why != "" {
					t.Fatal(why)
				}
			}
			r.start()
			forever, _ := r.submit(1, "", submission())
			timeout(time.Second)
			second, _ := r.submit(2, "", submission())
			if len(r.out.Timers) != 1 || r.out.Timers[0].After != time.Second {
				t.Fatalf("timers %v, want one in a second", r.out.Timers)
			}
			due := r.out.Timers[0].Msg.(messages.ToIntake)
			timeout(0)
			third, _ := r.submit(3, "", submission())
			r.now += time.Hour
			r.step(due)
			if got := second.read().finish[0]; got == nil || !strings.Contains(got.Finish.Message, "1s") || !strings.Contains(got.Finish.Message, name) {
				t.Errorf("the request of a second ended with %+v", got)
			}
			if len(forever.read().finish)+len(third.read().finish) != 0 {
				t.Error("a request without a timeout ended")
			}
		})
	}
}

// Limits out of range are refused as a whole.
func TestLimitsOutOfRangeChangeNothing(t *testing.T) {
	r := newRig(t, letters())
	before := r.table.opt
	for _, change := range []func(*messages.IntakeLimits){
		func(l *messages.IntakeLimits) { l.MaxOpenRequests = 0 },
		func(l *messages.IntakeLimits) { l.MaxQueuedTokens = -1 },
		func(l *messages.IntakeLimits) { l.MaxQueuedRequests = -1 },
		func(l *messages.IntakeLimits) { l.QueueTimeout = -1 },
		func(l *messages.IntakeLimits) { l.RequestTimeout = -1 },
	} {
		why := r.configure(func(l *messages.IntakeLimits) {
			*l = messages.IntakeLimits{MaxOpenRequests: 5, MaxQueuedTokens: 5, MaxQueuedRequests: 5, QueueTimeout: 5, RequestTimeout: 5}
			change(l)
		})
		if why == "" || r.table.opt != before {
			t.Errorf("answered %q, options %+v", why, r.table.opt)
		}
	}
}

// New limits outlive a crash of intake, and are abandoned with an answer.
func TestLimitsOutliveIntake(t *testing.T) {
	r := newRig(t, letters())
	if why := r.configure(func(l *messages.IntakeLimits) { l.MaxOpenRequests = 1 }); why != "" {
		t.Fatal(why)
	}
	r.core = NewCore(r.table, CoreOptions{Detokenizer: letters()})
	r.submit(1, "", submission())
	if c, _ := r.submit(2, "", submission()); c.read().refused == nil {
		t.Error("the next incarnation has other limits")
	}
	reply := make(chan string, 1)
	r.core.Abandon(&messages.ConfigureIntake{Reply: reply})
	if why := <-reply; why == "" {
		t.Error("abandoned without a reason")
	}
}
