package seeded

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

func system() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
}

// order lets three actors each send a fourth one three messages and returns the
// order of their arrival.
func order(sys *actor.ActorSystem, seed uint64) string {
	s := New(seed)
	var got []string
	name := func(part string) string { return fmt.Sprintf("%s-%d-%s", part, seed, sys.ProcessRegistry.NextID()) }
	spawn := func(f actor.ReceiveFunc, part string) *actor.PID {
		pid, err := sys.Root.SpawnNamed(actor.PropsFromFunc(f, s.Props()...), name(part))
		if err != nil {
			panic(err)
		}
		return pid
	}
	sink := spawn(func(ctx actor.Context) {
		if m, ok := ctx.Message().(string); ok {
			got = append(got, m)
		}
	}, "sink")
	for i := range 3 {
		pid := spawn(func(ctx actor.Context) {
			if n, ok := ctx.Message().(int); ok {
				ctx.Send(sink, fmt.Sprintf("%d%d", i, n))
			}
		}, "sender")
		for n := range 3 {
			sys.Root.Send(pid, n)
		}
	}
	for s.Turn() {
	}
	return fmt.Sprint(got)
}

func TestASeedIsAnOrder(t *testing.T) {
	sys, orders := system(), map[string]bool{}
	for seed := range uint64(100) {
		got := order(sys, seed)
		if again := order(sys, seed); again != got {
			t.Fatalf("seed %d: %s, then %s", seed, got, again)
		}
		orders[got] = true
		if len(got) != len("[00 00 00 00 00 00 00 00 00]") {
			t.Fatalf("seed %d: messages are missing: %s", seed, got)
		}
	}
	if len(orders) < 50 {
		t.Errorf("100 seeds make only %d orders", len(orders))
	}
}

// A panic reaches the parent, the message is lost, the mailbox goes on behind
// the restart, in order.
func TestAPanickingActorIsRestarted(t *testing.T) {
	sys := system()
	for seed := range uint64(50) {
		s := New(seed)
		var got []int
		child := actor.PropsFromFunc(func(ctx actor.Context) {
			if n, ok := ctx.Message().(int); ok {
				if n == 2 {
					panic("two")
				}
				got = append(got, n)
			}
		}, s.Props()...)
		var pid *actor.PID
		parent := actor.PropsFromFunc(func(ctx actor.Context) {
			if _, ok := ctx.Message().(*actor.Started); ok {
				pid = ctx.Spawn(child)
				for n := range 6 {
					ctx.Send(pid, n)
				}
			}
		}, s.Props()...)
		root := sys.Root.Spawn(parent)
		for s.Turn() {
		}
		if want := []int{0, 1, 3, 4, 5}; !slices.Equal(got, want) {
			t.Fatalf("seed %d: handled %v, want %v", seed, got, want)
		}
		sys.Root.Stop(root)
		for s.Turn() {
		}
		if p, ok := sys.ProcessRegistry.GetLocal(pid.Id); ok {
			t.Fatalf("seed %d: the child %v outlives its parent", seed, p)
		}
	}
}

func TestTimePassesWhenNobodyIsReady(t *testing.T) {
	s := New(1)
	var fired []string
	left := 3
	s.Add(1, func() bool { return left > 0 }, func() {
		left--
		fired = append(fired, "turn")
	})
	s.After(time.Second, func() { fired = append(fired, "second") })
	s.After(time.Millisecond, func() {
		fired = append(fired, "milli")
		s.Schedule(func() { fired = append(fired, "scheduled") })
	})
	for s.Turn() {
	}
	if want := []string{"turn", "turn", "turn", "milli", "scheduled", "second"}; !slices.Equal(fired, want) {
		t.Errorf("got %v, want %v", fired, want)
	}
	if s.Now() < time.Second || s.Now() > time.Second+time.Millisecond {
		t.Errorf("the time is %v", s.Now())
	}
	if s.Turns() != 6 {
		t.Errorf("%d turns", s.Turns())
	}
}
