package former

import (
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/queue"
)

// A request that comes later and goes first is admitted at once if there is room
// for it, although the batch former had none for the first of those before.
func TestBetterRequestPassesOneThatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		policy string
		passes bool
	}{
		{"fcfs", false}, {"priority", true}, {"lof", true}, {"lpm", true},
		{"fair", false}, // b starts where a is, and a's request is older
	} {
		opt := queue.Options{SchedulePolicy: c.policy, PageSize: 16}
		l := newLoop(4)
		l.queue = queue.New(opt)
		l.former = New(Options{PageSize: 16, Pages: 20, MaxRunning: 4, ContextLength: 320, ChunkedPrefillSize: 512, ReportToQueue: opt.WantsResults()})
		l.alloc = pages.New(pages.Options{Pages: 20})
		enqueue := func(id messages.RequestID, tokens, most int, priority int32, tenant string, first int32) {
			r := &messages.EngineRequest{ID: id, Prompt: make([]int32, tokens), Priority: priority, Tenant: tenant,
				Params: &messages.SamplingParams{MaxTokens: most, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}}
			for i := range r.Prompt {
				r.Prompt[i] = first + int32(i)
			}
			l.send(messages.Queue, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{r}})
		}
		enqueue(1, 100, 100, 0, "a", 1000) // runs, and may need 11 pages of 20
		l.compute()
		enqueue(2, 150, 100, 0, "a", 5000) // would need 14
		l.compute()
		l.compute()
		if l.former.admission.block.head != 2 {
			t.Fatalf("%s: request %d is blocked, want 2", c.policy, l.former.admission.block.head)
		}
		enqueue(3, 20, 101, 5, "b", 1000) // begins as request 1 does
		for range 3 {
			l.compute()
		}
		if got := l.former.batch.byID[3] != nil; got != c.passes || l.former.batch.byID[2] != nil {
			t.Errorf("%s: request 3 runs: %t, want %t; request 2 runs: %t", c.policy, got, c.passes, l.former.batch.byID[2] != nil)
		}
	}
}
