package bench

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/lab/bench"
)

// probeEvery is the time between two messages of a probe: short enough for a p99
// within seconds, long enough not to disturb the engine.
const probeEvery = 2 * time.Millisecond

// probe is the message of probeDelay.
type probe struct{ due, sent time.Time }

// probeDelay measures until stop how late messages to an idle actor are handled.
func probeDelay(system *actor.ActorSystem) func() (stop func() []bench.Delay) {
	return func() (stop func() []bench.Delay) {
		var all []bench.Delay // owned by the actor until it has stopped
		pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if p, ok := c.Message().(*probe); ok {
				now := time.Now()
				all = append(all, bench.Delay{Message: now.Sub(p.sent), Timer: now.Sub(p.due)})
			}
		}))
		over := make(chan struct{})
		var done sync.WaitGroup
		done.Go(func() {
			due := time.Now().Add(probeEvery) // before the timer starts: no delay is negative
			timer := time.NewTimer(probeEvery)
			defer timer.Stop()
			for {
				select {
				case <-over:
					return
				case <-timer.C:
				}
				now := time.Now()
				system.Root.Send(pid, &probe{due, now})
				due = now.Add(probeEvery)
				timer.Reset(probeEvery)
			}
		})
		return func() []bench.Delay {
			close(over)
			done.Wait()
			// A poisoned actor first handles the messages in its mailbox. If it does
			// not stop in time, it still owns the list.
			if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
				return nil
			}
			return all
		}
	}
}
