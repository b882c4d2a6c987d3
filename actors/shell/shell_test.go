package shell

import (
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// recorder is a core that remembers what it got.
type recorder struct{ got []messages.ToRunner }

func (r *recorder) Handle(_ time.Duration, msg messages.ToRunner, _ *messages.Outbox) {
	r.got = append(r.got, msg)
}

// counts is a meter.
type counts struct {
	mu sync.Mutex
	of map[messages.Metric]float64
}

func (c *counts) Record(m messages.Metric, v float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[messages.Metric]float64{}
	}
	c.of[m] += v
}

// run sends messages to an actor around a recorder and then stops it.
func run(t *testing.T, own messages.Header, sent ...any) (*recorder, *counts, []*messages.FailEpoch) {
	t.Helper()
	system := actor.NewActorSystem()
	defer system.Shutdown()
	core, meter := &recorder{}, &counts{}
	failed := make(chan *messages.FailEpoch, 10)
	supervisor := system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		if m, ok := ctx.Message().(*messages.FailEpoch); ok {
			failed <- m
		}
	}))
	opt := Options{
		Role: messages.Runner, Own: own, Meter: meter, Log: zerolog.Nop(),
		Route: func(messages.Actor, messages.Header) *actor.PID { return supervisor },
		Clock: func() time.Duration { return 0 },
	}
	pid := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return New(opt, core) },
		actor.WithSupervisor(actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective }))))
	for _, m := range sent {
		system.Root.Send(pid, m)
	}
	for _, p := range []*actor.PID{pid, supervisor} {
		if err := system.Root.PoisonFuture(p).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	close(failed)
	var all []*messages.FailEpoch
	for m := range failed {
		all = append(all, m)
	}
	return core, meter, all
}

// A core sees messages of its own incarnation only; the others are counted.
func TestMessagesOfOtherIncarnationsAreIgnored(t *testing.T) {
	own := messages.Header{Engine: 1, Epoch: 3}
	core, meter, _ := run(t, own,
		&messages.RunBatch{Header: messages.Header{Engine: 1, Epoch: 2}},
		&messages.RunBatch{Header: own, Step: 7},
		&messages.WatchdogDue{Header: messages.Header{Engine: 2, Epoch: 3}},
	)
	if len(core.got) != 1 || core.got[0].(*messages.RunBatch).Step != 7 {
		t.Errorf("the core got %v", core.got)
	}
	if n := meter.of[messages.StaleMessages]; n != 2 {
		t.Errorf("%v stale messages were counted, want 2", n)
	}
}

// A message that went to the wrong actor is counted. With invariants it ends the
// epoch, so that no test overlooks it.
func TestUnknownMessagesAreCounted(t *testing.T) {
	own := messages.Header{Epoch: 3}
	_, meter, failed := run(t, own, &messages.CommitPlan{Header: own})
	if n := meter.of[messages.UnknownMessages]; n != 1 {
		t.Errorf("%v unknown messages were counted, want 1", n)
	}
	if want := map[bool]int{true: 1}[invariants.Enabled]; len(failed) != want {
		t.Errorf("the epoch failed %d times, want %d", len(failed), want)
	}
}
