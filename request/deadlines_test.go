package request

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// urgent is a submission with a priority.
func urgent(p int32) messages.Submission {
	s := submission()
	s.Priority = p
	return s
}

// alarms fires every timer that the last step set, in virtual time.
func (r *rig) alarms() (sends []messages.Send) {
	r.t.Helper()
	timers := slices.Clone(r.out.Timers)
	for _, timer := range timers {
		r.now += timer.After
		sends = append(sends, r.step(timer.Msg.(messages.ToIntake))...)
	}
	return sends
}

func TestQueueTimeoutEndsOnlyWhoWaits(t *testing.T) {
	opt := tableOptions()
	opt.QueueTimeout = time.Second
	r := newRigWith(t, opt, letters())
	r.start()
	running, _ := r.submit(1, "", submission())
	if len(r.out.Timers) != 1 || r.out.Timers[0].After != time.Second {
		t.Fatalf("timers %v, want one in a second", r.out.Timers)
	}
	due := r.out.Timers[0].Msg
	waiting, _ := r.submit(2, "", submission())
	if len(r.out.Timers) != 0 {
		t.Fatalf("a second timer %v while the first is out", r.out.Timers)
	}
	r.results(messages.StepResults{Admitted: []messages.RequestID{1}})

	r.now = time.Second // the first one's deadline has passed, the second one's not
	r.step(due.(messages.ToIntake))
	if len(running.read().finish)+len(waiting.read().finish) != 0 {
		t.Fatal("a request ended that was admitted, or early")
	}
	sends := r.alarms()
	out := waiting.read().finish[0]
	if out == nil || out.Finish.Reason != messages.FinishError || out.Finish.Kind != messages.RefusedTimeout ||
		!strings.Contains(out.Finish.Message, "queue-timeout") || out.Finish.RetryAfterSeconds < 1 {
		t.Fatalf("the waiting request ended with %+v", out)
	}
	if got := finished(sends); !slices.Equal(got, []messages.RequestID{2}) || r.reading(messages.RequestsTimedOut) != 1 || r.reading(messages.RequestsFailed) != 0 {
		t.Errorf("finished %v, readings %v", got, r.out.Readings)
	}
	if len(running.read().finish) != 0 || len(r.out.Timers) != 0 {
		t.Errorf("the admitted request ended, or timers %v are set for no request", r.out.Timers)
	}
	// A new one sets the alarm again.
	r.submit(3, "", submission())
	if len(r.out.Timers) != 1 {
		t.Error("no timer for a request that came later")
	}
}

func TestRequestTimeoutEndsWhoRuns(t *testing.T) {
	opt := tableOptions()
	opt.RequestTimeout, opt.QueueTimeout = time.Second, time.Minute
	r := newRigWith(t, opt, letters())
	r.start()
	c, _ := r.submit(1, "", submission())
	due := r.out.Timers[0].Msg.(messages.ToIntake)
	r.tokens(1, 0, ids("ab")...)
	r.now = 2 * time.Second
	sends := r.step(due)
	out := c.read().finish[0]
	if out == nil || out.Finish.Kind != messages.RefusedTimeout || !strings.Contains(out.Finish.Message, "request-timeout") || c.text[0] != "ab" {
		t.Fatalf("ended with %+v after %q", out, c.text[0])
	}
	if !slices.Equal(finished(sends), []messages.RequestID{1}) {
		t.Errorf("finished %v", finished(sends))
	}
	r.released(1, messages.EndCancelled)
	if r.table.Open() != 0 {
		t.Error("the request is still open")
	}
}

// The next incarnation sets its own timer; the old one does no harm.
func TestDeadlinesOutliveACrash(t *testing.T) {
	opt := tableOptions()
	opt.RequestTimeout = time.Second
	r := newRigWith(t, opt, letters())
	r.start()
	c, _ := r.submit(1, "", submission())
	old := r.out.Timers[0].Msg.(messages.ToIntake)
	r.core = NewCore(r.table, CoreOptions{Detokenizer: letters()})
	r.tokens(1, 0, 1)
	if len(r.out.Timers) != 1 {
		t.Fatalf("timers %v of the second incarnation", r.out.Timers)
	}
	r.now = time.Second + time.Millisecond
	r.step(old)
	if c.read().finish[0] == nil {
		t.Fatal("the deadline was forgotten")
	}
}

func TestFullQueueRefuses(t *testing.T) {
	opt := tableOptions()
	opt.MaxQueuedRequests = 2
	r := newRigWith(t, opt, letters())
	r.start()
	never, _ := r.submit(9, "", submission(), submission(), submission())
	if got := never.refused; got == nil || got.Kind != messages.RefusedInvalid || got.Param != "n" || !strings.Contains(got.Message, "3 choices (prompts times n), but at most 2 may wait (max-queued-requests); split it") {
		t.Fatalf("a call that never fits is refused with %+v", got)
	}
	r.submit(1, "", submission())
	r.submit(2, "", submission())
	c, _ := r.submit(3, "", submission())
	if c.refused == nil || c.refused.Kind != messages.RefusedBusy || c.refused.RetryAfterSeconds < 1 || !strings.Contains(c.refused.Message, "max-queued-requests") {
		t.Fatalf("refused with %+v", c.refused)
	}
	r.results(messages.StepResults{Admitted: []messages.RequestID{1}})
	if c, _ := r.submit(4, "", submission()); c.refused != nil {
		t.Errorf("refused with %q though one was admitted", c.refused.Message)
	}
	if c, _ := r.submit(5, "", submission()); c.refused == nil {
		t.Error("taken into a full queue")
	}
}

// SGLang's cases of a full queue with priorities: three wait, one runs.
func TestFullQueueKeepsTheUrgent(t *testing.T) {
	for _, tt := range []struct {
		name  string
		low   bool
		order []int32 // priorities as they come, the first one is admitted
		ends  []int   // indexes that get a busy end or refusal, as they come
	}{
		{"rising", false, []int32{1, 2, 3, 4, 5, 6, 7}, []int{1, 2, 3}},
		{"falling", false, []int32{7, 6, 5, 4, 3, 2, 1}, []int{4, 5, 6}},
		{"equal ones displace none", false, []int32{1, 1, 1, 1, 1}, []int{4}},
		{"low first", true, []int32{7, 6, 5, 4, 3}, []int{1}},
		{"the latest of the lowest goes", false, []int32{0, 1, 1, 1, 2}, []int{3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := tableOptions()
			opt.MaxQueuedRequests, opt.Priorities, opt.LowFirst, opt.Displace = 3, true, tt.low, true
			r := newRigWith(t, opt, letters())
			r.start()
			var clients []*client
			for i, p := range tt.order {
				c, _ := r.submit(messages.CallID(i+1), "", urgent(p))
				clients = append(clients, c)
				if i == 0 {
					r.results(messages.StepResults{Admitted: []messages.RequestID{1}})
				}
			}
			var got []int
			for i, c := range clients {
				out := c.read().finish[0]
				if c.refused != nil && c.refused.Kind == messages.RefusedBusy || out != nil && out.Finish.Kind == messages.RefusedBusy {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, tt.ends) {
				t.Errorf("%v of %v ended, want %v", got, tt.order, tt.ends)
			}
		})
	}
}

// Priorities that only eviction uses displace no request in the queue.
func TestFullQueueWithoutItsPolicy(t *testing.T) {
	opt := tableOptions()
	opt.MaxQueuedRequests, opt.Priorities = 1, true
	r := newRigWith(t, opt, letters())
	r.start()
	waiting, _ := r.submit(1, "", urgent(1))
	late, _ := r.submit(2, "", urgent(9))
	if late.refused == nil || late.refused.Kind != messages.RefusedBusy || len(waiting.read().finish) != 0 {
		t.Errorf("the late one is refused with %+v", late.refused)
	}
}

func TestPriorityWithoutEffectIsRefused(t *testing.T) {
	r := newRig(t, letters())
	c, _ := r.submit(1, "", urgent(3))
	if c.refused == nil || c.refused.Param != "priority" || !strings.Contains(c.refused.Message, "schedule-policy priority") {
		t.Fatalf("refused with %+v", c.refused)
	}
}

func TestRequestsKeepTheirScheduling(t *testing.T) {
	opt := tableOptions()
	opt.Priorities = true
	r := newRigWith(t, opt, letters())
	s := urgent(5)
	s.Tenant = "acme"
	r.submit(1, "", s)
	first := r.start()[0]
	r.end()
	r.now += time.Minute
	again := r.start()[0]
	for _, q := range []*messages.EngineRequest{first, again} {
		if q.Priority != 5 || q.Tenant != "acme" || q.Arrived != time.Millisecond {
			t.Errorf("submitted as %+v", q)
		}
	}
}

// A request that waits is ended in time although the timer that is out is for
// the end of one that runs, which needs no further timer then.
func TestQueueTimeoutBehindARunningRequest(t *testing.T) {
	opt := tableOptions()
	opt.RequestTimeout, opt.QueueTimeout = time.Minute, time.Second
	r := newRigWith(t, opt, letters())
	r.start()
	running, _ := r.submit(1, "", submission())
	due := r.out.Timers[0].Msg.(messages.ToIntake)
	r.results(messages.StepResults{Admitted: []messages.RequestID{1}})
	r.now = time.Second
	r.step(due)
	if len(r.out.Timers) != 1 || r.out.Timers[0].After < 50*time.Second {
		t.Fatalf("timers %v, want one for the end of the running request", r.out.Timers)
	}
	last := r.out.Timers[0].Msg.(messages.ToIntake)
	for call := range messages.CallID(3) {
		waiting, _ := r.submit(2+call, "", submission())
		if len(r.out.Timers) != 1 || r.out.Timers[0].After != time.Second {
			t.Fatalf("timers %v, want one in a second for the request that waits", r.out.Timers)
		}
		r.alarms()
		if out := waiting.read().finish[0]; out == nil || !strings.Contains(out.Finish.Message, "queue-timeout") {
			t.Fatalf("the waiting request ended with %+v", out)
		}
		if len(r.out.Timers) != 0 {
			t.Fatalf("timers %v beside the one for the running request", r.out.Timers)
		}
	}
	r.now = 2 * time.Minute
	r.step(last)
	if out := running.read().finish[0]; out == nil || !strings.Contains(out.Finish.Message, "request-timeout") || len(r.out.Timers) != 0 {
		t.Errorf("the running request ended with %+v; timers %v", out, r.out.Timers)
	}
}
