package queue_test

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/queue"
)

// A core is driven by messages and answers in its outbox. Here the batch former's
// part is played by hand: it asks for candidates and claims what it admits.
func ExampleCore() {
	q := queue.New(queue.Options{SchedulePolicy: "priority", Aging: time.Minute})
	var out messages.Outbox

	// Intake submits three requests. The queue wakes the batch former.
	q.Handle(0, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{
		{ID: 1, Prompt: []int32{7, 8}, Priority: 0},
		{ID: 2, Prompt: []int32{7, 9}, Priority: 5},
		{ID: 3, Prompt: []int32{7, 7}, Priority: 5},
	}}, &out)
	fmt.Printf("to %s: %T\n", out.Sends[0].To, out.Sends[0].Msg)
	out.Reset()

	offer := func(now time.Duration, plan messages.PlanID) {
		q.Handle(now, &messages.OfferCandidates{Plan: plan, Limit: 2}, &out)
		for _, r := range out.Sends[0].Msg.(*messages.CandidatesOffered).Requests {
			fmt.Printf("%v: request %d of priority %d\n", now, r.ID, r.Priority)
		}
		out.Reset()
	}
	offer(time.Second, 1)
	q.Handle(time.Second, &messages.ClaimCandidates{IDs: []messages.RequestID{2}}, &out)
	out.Reset()

	// After a minute the oldest request goes first, whatever its priority.
	offer(time.Minute, 2)
	fmt.Println(q.Waiting(), "wait")

	// Output:
	// to former: *messages.CandidatesWaiting
	// 1s: request 2 of priority 5
	// 1s: request 3 of priority 5
	// 1m0s: request 1 of priority 0
	// 1m0s: request 3 of priority 5
	// 2 wait
}
