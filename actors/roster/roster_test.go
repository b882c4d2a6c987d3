package roster

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/cluster/report"
)

type blocked struct {
	entered, leave chan struct{}
}

func (b *blocked) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(string); ok {
		b.entered <- struct{}{}
		<-b.leave
	}
}

func TestEntryCountsMessages(t *testing.T) {
	r := New(nil)
	e := r.Entry("engine/former", "former")
	system := actor.NewActorSystem()
	b := &blocked{make(chan struct{}), make(chan struct{})}
	pid, err := system.Root.SpawnNamed(actor.PropsFromProducer(func() actor.Actor { return b }, e.Options()...), "former")
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Actors()[0]; a.State != report.Idle || a.Handled > 1 || a.Mailbox != 0 {
		t.Errorf("a new actor is %+v", a)
	}
	first := r.Actors()[0].Handled
	for range 5 {
		system.Root.Send(pid, "work")
	}
	<-b.entered
	if a := r.Actors()[0]; a.State != report.Busy || a.Mailbox != 4 || a.MailboxPeak < 4 || a.Handled != first+1 {
		t.Errorf("with one of five messages in hand it is %+v", a)
	}
	for range 4 {
		b.leave <- struct{}{}
		<-b.entered
	}
	b.leave <- struct{}{}
	if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
	e.Failed("it broke", true)
	e.Stopped()
	a := r.Actors()[0]
	if a.State != report.Stopped || a.Restarts != 1 || a.LastFailure.Cause != "it broke" || a.Mailbox != 0 {
		t.Errorf("at the end it is %+v", a)
	}
}

// The next link of a slot is another actor; only after a failure it is a restart.
func TestLinksOfASlot(t *testing.T) {
	r := New(nil)
	e := r.Entry("cluster/engine-1", "link")
	system := actor.NewActorSystem()
	for i, node := range []string{"one", "two", "two"} {
		e.For(node)
		pid := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return nothing{} }, e.Options()...))
		if a := r.Actors()[0]; a.Peer != node || a.Restarts != i/2 {
			t.Errorf("link %d is %+v", i, a)
		}
		if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			e.Failed("it broke", false)
		}
		e.Stopped()
	}
}

type nothing struct{}

func (nothing) Receive(actor.Context) {}

// The counts of a message must cost less than 20 ns: compare the two.
func BenchmarkMessage(b *testing.B) {
	for name, options := range map[string][]actor.PropsOption{"plain": nil, "counted": New(nil).Entry("a", "a").Options()} {
		b.Run(name, func(b *testing.B) {
			system := actor.NewActorSystem()
			pid := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return nothing{} }, options...))
			for b.Loop() {
				system.Root.Send(pid, "work")
			}
			system.Root.PoisonFuture(pid).Wait()
		})
	}
}
