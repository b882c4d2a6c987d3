package engine

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/messages"
)

// The portal panics on the news of a new epoch. After that, gateways are told of an epoch
// again, and the engine takes requests in it.
func TestThePortalPanicsOnANewEpoch(t *testing.T) {
	for _, engines := range []int{1, 2} {
		for _, nth := range []int64{1, 2} {
			t.Run(fmt.Sprintf("%d engines, epoch %d", engines, nth), func(t *testing.T) {
				heard, told, restarted := make(chan any, 1000), make(chan any, 10), make(chan any, 10)
				var gateway *actor.PID
				var seen atomic.Int64
				h := start(t, setup{pageSize: 4, pages: 400, chunk: -1, maxRunning: 16, engines: engines}, func(s *Spec) {
					s.Portal, s.Roster = true, roster.New(nil)
					s.Peers = func(messages.EngineID) *actor.PID { return gateway }
					s.OnRestart = func() { // also when dispatch restarts
						if seen.Load() >= nth {
							restarted <- nil
						}
					}
					s.Intercept = func(role messages.Actor, msg any) {
						if _, ok := msg.(*messages.EpochStarted); !ok || role != messages.Portal {
							return
						}
						told <- nil
						if seen.Add(1) == nth {
							panic("a test")
						}
					}
				})
				portal := h.Portal()
				gateway = h.system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
					switch m := ctx.Message().(type) {
					case *messages.EpochStarted, *messages.EpochEnded, *messages.StepResults:
						heard <- m
					}
				}))
				next := func(from chan any) any {
					t.Helper()
					select {
					case m := <-from:
						return m
					case <-time.After(20 * time.Second):
						t.Fatal("nothing was heard of the engine any more")
						return nil
					}
				}
				next(told)
				if nth > 1 {
					// Of several engines, one that restarts does not end the epoch that the portal knows.
					path := map[int]string{1: "engine/supervisor", 2: "engine/dispatch"}[engines]
					if _, err := h.RestartActor(t.Context(), path, "an operator asked"); err != nil {
						t.Fatal(err)
					}
				}
				next(restarted)
				h.system.Root.Send(portal, &messages.GatewayJoined{Gateway: 1})
				params := &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 1, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
				submit := func(h messages.Header) *messages.EnqueueRequests {
					return &messages.EnqueueRequests{Header: h, Requests: []*messages.EngineRequest{{ID: 1, Prompt: []int32{7, 8, 9}, Params: params}}}
				}
				for over := false; !over; {
					switch m := next(heard).(type) {
					case *messages.EpochStarted:
						h.system.Root.Send(portal, submit(m.Header))
					case *messages.EpochEnded:
						if len(m.Requests) > 0 { // lost with one of several engines
							h.system.Root.Send(portal, submit(m.Header))
						}
					case *messages.StepResults:
						over = len(m.Ended) > 0
					}
				}
			})
		}
	}
}
