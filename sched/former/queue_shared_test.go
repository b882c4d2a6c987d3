package former

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/queue"
)

// computedFor runs 8 requests whose prompts share 4096 tokens, and a ninth that
// shares 64 of them, to their ends, with a budget of tokens per step, and returns how many tokens were computed
// and after how many steps the ninth had its end.
func computedFor(t *testing.T, opt queue.Options, budget int) (computed, ninth int) {
	l := newLoop(16)
	l.queue = queue.New(opt)
	l.former = New(Options{
		PageSize: 16, Pages: 16 * 1024, MaxRunning: 16, ContextLength: 1 << 20, ChunkedPrefillSize: budget, MaxPrefillTokens: budget,
		ReportToQueue: opt.WantsResults(),
	})
	m := &messages.EnqueueRequests{}
	for id := range 9 {
		shared, own := 4096, 100
		if id == 8 {
			shared, own = 64, 30
		}
		r := &messages.EngineRequest{ID: messages.RequestID(id + 1), Prompt: make([]int32, shared+own),
			Params: &messages.SamplingParams{MaxTokens: 2, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}}
		for i := range r.Prompt {
			r.Prompt[i] = int32(i)
			if i >= shared {
				r.Prompt[i] = int32(10000*(id+1) + i)
			}
		}
		m.Requests = append(m.Requests, r)
	}
	l.send(messages.Queue, m)
	runs := false
	for step := 1; l.former.Load().Running > 0 || l.queue.Waiting() > 0; step++ {
		if step > 2000 {
			t.Fatalf("%s: %d run and %d wait after %d steps", opt.SchedulePolicy, l.former.Load().Running, l.queue.Waiting(), step)
		}
		for _, w := range l.steps[0].Work {
			computed += w.Count
		}
		l.compute()
		if l.former.batch.byID[9] != nil {
			runs = true
		} else if runs && ninth == 0 {
			ninth = step
		}
	}
	return computed, ninth
}

// Under lpm a shared prompt is computed once, however much fits into a step, and a
// request that shares a little of it does not wait for all of it.
func TestSharedPromptIsComputedOnce(t *testing.T) {
	const least, rounding = 4096 + 8*100 + 30 + 8, 9 * 16
	for _, budget := range []int{512, 16384} {
		computed, ninth := computedFor(t, queue.Options{SchedulePolicy: "lpm", PageSize: 16}, budget)
		if computed < least || computed > least+rounding {
			t.Errorf("%d tokens per step: %d were computed, want %d to %d", budget, computed, least, least+rounding)
		}
		if ninth > 6 {
			t.Errorf("%d tokens per step: the short prompt ends after %d steps, want at most 6: the first chunk has its prefix", budget, ninth)
		}
	}
}
