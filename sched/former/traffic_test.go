package former

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/queue"
)

// Prompts longer than what a step computes, whole or in chunks, with all policies,
// preemption, aging, shared prefixes, quarantined requests and cancels: all
// requests end and nothing is left. testkit/simtest has short prompts and every order of
// messages.
func TestRandomTraffic(t *testing.T) {
	seeds, retractions := uint64(12), 0
	if os.Getenv("TROUPE_SOAK") == "1" {
		seeds = 1000
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		r := rand.New(rand.NewPCG(seed, 77))
		page := []int{1, 4, 16}[r.IntN(3)]
		context := 200 + r.IntN(800)
		pages := paging.Pages(context, page) * (1 + r.IntN(3))
		chunk := []int{-1, 7, 33, 64, 200}[r.IntN(5)]
		aging := []time.Duration{0, 50 * time.Millisecond, time.Second}[r.IntN(3)]
		target := time.Duration(0)
		if chunk > 0 && r.IntN(3) == 0 {
			target = 8 * time.Millisecond
		}
		preempt := r.IntN(2) == 0
		order := queue.Options{SchedulePolicy: queue.Policies()[r.IntN(len(queue.Policies()))], Aging: aging, PageSize: page}
		if preempt {
			order.SchedulePolicy = "priority"
		}
		v := newVirtual(Options{PageSize: page, Pages: pages, MaxRunning: 1 + r.IntN(10), ContextLength: context, ChunkedPrefillSize: chunk,
			MaxPrefillTokens: 1 + r.IntN(100), CacheDisabled: r.IntN(5) == 0, StepsInFlight: 1 + r.IntN(2), InitNewTokenRatio: []float64{0.01, 0.7}[r.IntN(2)],
			PriorityPreemption: preempt, PreemptionThreshold: r.IntN(3), Aging: aging, InterTokenLatencyTarget: target, ReportToQueue: order.WantsResults()}, noisy(linear, seed))
		v.queue = queue.New(order)
		v.cache = radix.New(radix.Options{PageSize: page, Disabled: v.former.opt.CacheDisabled})
		n, steps := 0, 0
		for {
			if n < 40 && r.IntN(4) == 0 {
				for range 1 + r.IntN(6) {
					n++
					p := 1 + r.IntN(context-2)
					if r.IntN(2) == 0 {
						p = 1 + p/8
					}
					stem := int32(r.IntN(3)) * 10000
					share := r.IntN(p + 1)
					v.enqueue(p, 1+r.IntN(context-p), func(q *messages.EngineRequest) {
						for i := range q.Prompt[:share] {
							q.Prompt[i] = stem + int32(i)
						}
						q.Priority = int32(r.IntN(6))
						q.Alone = r.IntN(15) == 0
						q.Arrived = v.now
					})
				}
			}
			if r.IntN(10) == 0 && n > 0 {
				v.finish(messages.RequestID(1 + r.IntN(n)))
			}
			if !v.step() {
				if n >= 40 {
					break
				}
			}
			if steps++; steps > 200000 {
				t.Fatalf("seed %d: no end: %+v waiting %d opt %+v", seed, v.former.Load(), v.queue.Waiting(), v.former.opt)
			}
		}
		if v.former.Load() != (Load{Resting: true}) || v.queue.Waiting() != 0 {
			t.Fatalf("seed %d: left %+v %d opt %+v", seed, v.former.Load(), v.queue.Waiting(), v.former.opt)
		}
		retractions += v.retractions
	}
	if retractions == 0 {
		t.Error("memory was never short")
	}
}
