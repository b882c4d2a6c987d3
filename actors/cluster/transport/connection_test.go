package transport

import (
	"strconv"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"

	"github.com/troupe-engine/troupe/messages"
)

func batch(key string) *remote.MessageBatch {
	return &remote.MessageBatch{TypeNames: []string{frameType}, Targets: []string{key}, Envelopes: []*remote.MessageEnvelope{{}}}
}

func TestBatchesThatAreNotAllowed(t *testing.T) {
	system := actor.NewActorSystem(actor.WithLoggerFactory(quiet))
	l := newLinks(system)
	c := &connection{links: l}
	key := l.open(system.NewLocalPID("cluster/engine-1"))
	for name, change := range map[string]func(*remote.MessageBatch){
		"type":          func(b *remote.MessageBatch) { b.TypeNames[0] = "actor.Stop" },
		"second type":   func(b *remote.MessageBatch) { b.TypeNames = append(b.TypeNames, "actor.Terminated") },
		"type index":    func(b *remote.MessageBatch) { b.Envelopes[0].TypeId = 1 },
		"negative type": func(b *remote.MessageBatch) { b.Envelopes[0].TypeId = -1 },
		"no type":       func(b *remote.MessageBatch) { b.TypeNames = nil },
		"target index":  func(b *remote.MessageBatch) { b.Envelopes[0].Target = 1 },
		"negative":      func(b *remote.MessageBatch) { b.Envelopes[0].Target = -1 },
		"no target":     func(b *remote.MessageBatch) { b.Targets = nil },
		"serializer":    func(b *remote.MessageBatch) { b.Envelopes[0].SerializerId = 1 },
		"sender":        func(b *remote.MessageBatch) { b.Envelopes[0].Sender = 1 },
		"request":       func(b *remote.MessageBatch) { b.Envelopes[0].TargetRequestId = 1 },
		"reply":         func(b *remote.MessageBatch) { b.Envelopes[0].SenderRequestId = 1 },
		"header":        func(b *remote.MessageBatch) { b.Envelopes[0].MessageHeader = &remote.MessageHeader{} },
		"nil":           func(b *remote.MessageBatch) { b.Envelopes[0] = nil },
	} {
		b := batch(key)
		change(b)
		if err := c.checkBatch(b); err == nil {
			t.Errorf("%s: allowed", name)
		}
	}
	if err := c.checkBatch(batch(key)); err != nil {
		t.Errorf("a frame: %v", err)
	}
	other := &connection{links: l}
	if err := other.checkBatch(batch(key)); err == nil {
		t.Error("another connection may bring frames of the same link")
	}
}

// A goodbye may come after the other end has forgotten the link, on any connection. And a
// peer may name the address of another node when it opens a link, with any key.
func TestFramesForLinksThatAreNotThereAreLeftOut(t *testing.T) {
	system := actor.NewActorSystem(actor.WithLoggerFactory(quiet))
	l := newLinks(system)
	gone := l.open(system.NewLocalPID("cluster/engine-1"))
	l.close(gone)
	c := &connection{links: l}
	for _, key := range []string{gone, "", "cluster/engine-1", "cluster", "0123456789abcdef0123456789abcdef"} {
		b := batch(key)
		if err := c.checkBatch(b); err != nil || len(b.Envelopes) != 0 {
			t.Errorf("key %q: %d frames are left: %v", key, len(b.Envelopes), err)
		}
	}
}

// The next link's actor has the same name.
func TestNothingReachesTheNameOfALinkThatIsOver(t *testing.T) {
	system := actor.NewActorSystem(actor.WithLoggerFactory(quiet))
	l := newLinks(system)
	got := make(chan string, 10)
	pid, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
		switch m := ctx.Message().(type) {
		case *messages.LinkBroken:
			got <- m.Cause
		case string:
			got <- m
		}
	}), "engine-1")
	if err != nil {
		t.Fatal(err)
	}
	c := &connection{links: l}
	first := l.open(pid)
	l.connect(first, "there")
	if err := c.checkBatch(batch(first)); err != nil {
		t.Fatal(err)
	}
	l.end(first)
	second := l.open(pid)
	l.connect(second, "there")
	b := batch(first)
	if err := c.checkBatch(b); err != nil || len(b.Envelopes) != 0 {
		t.Errorf("a late frame: %d left, %v", len(b.Envelopes), err)
	}
	b = batch(second)
	if err := c.checkBatch(b); err != nil || len(b.Envelopes) != 1 || b.Envelopes[0].MessageHeader.HeaderData[keyHeader] != second {
		t.Errorf("a frame of the second link: %v, %v", b, err)
	}
	l.tell("the first one", func(e *end) bool { return e == l.byKey[first] })
	system.Root.Send(pid, "nothing before")
	if m := <-got; m != "nothing before" {
		t.Errorf("the actor got the end of %q", m)
	}
	l.ended(c, "the connection")
	if m := <-got; m != "the connection" {
		t.Errorf("the actor got %q", m)
	}
	if at := l.close(first); at != "there" || l.close(first) != "" {
		t.Errorf("closing it closes the connection to %q, or does so twice", at)
	}
}

// FuzzBatch: whatever a peer sends, the check lets through only what the runtime can
// handle, and only for the links of the connection.
func FuzzBatch(f *testing.F) {
	f.Add("", "", int32(0), int32(0), int32(0), int32(0), uint32(0), uint32(0), uint8(1))
	f.Add("actor.Stop", "intake", int32(1), int32(-1), int32(5), int32(2), uint32(1), uint32(9), uint8(3))
	system := actor.NewActorSystem(actor.WithLoggerFactory(quiet))
	f.Fuzz(func(t *testing.T, typeName, target string, typeID, to, from, serializer int32, targetRequest, senderRequest uint32, counts uint8) {
		l := newLinks(system)
		key := l.open(system.NewLocalPID("cluster/engine-1"))
		c := &connection{links: l}
		b := &remote.MessageBatch{}
		for i := range counts % 4 {
			name, at := frameType, key
			if i%2 == 1 {
				name, at = typeName, target
			}
			b.TypeNames, b.Targets = append(b.TypeNames, name), append(b.Targets, at)
		}
		for range counts / 4 % 4 {
			b.Envelopes = append(b.Envelopes, &remote.MessageEnvelope{TypeId: typeID, Target: to, Sender: from, SerializerId: serializer,
				TargetRequestId: targetRequest, SenderRequestId: senderRequest, MessageData: []byte(typeName + strconv.Itoa(int(to)))})
		}
		if c.checkBatch(b) != nil {
			return
		}
		for _, e := range b.Envelopes {
			if b.TypeNames[e.TypeId] != frameType || b.Targets[e.Target] != "cluster/engine-1" || e.Sender != 0 || e.SerializerId != 0 || e.TargetRequestId != 0 {
				t.Errorf("allowed: %v of %v to %v", e, b.TypeNames, b.Targets)
			}
		}
	})
}

// The runtime tells of the end of a connection once more when a stuck write ends, and then the
// next link to the same incarnation may have begun.
func TestALateEndOfAConnectionEndsNoOtherLink(t *testing.T) {
	system := actor.NewActorSystem(actor.WithLoggerFactory(quiet))
	tr := &Transport{system: system, links: newLinks(system)}
	got := make(chan string, 10)
	open := func(name string) (string, *actor.PID) {
		pid, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
			switch m := ctx.Message().(type) {
			case *messages.LinkBroken:
				got <- name + ": " + m.Cause
			case string:
				got <- name + ": " + m
			}
		}), name)
		if err != nil {
			t.Fatal(err)
		}
		key := tr.Open(pid)
		return key, pid
	}
	first, _ := open("engine-1")
	old := tr.Connect(first, "127.0.0.1:1", "incarnation", "far")
	tr.End(first)
	second, pid := open("engine-2")
	tr.Connect(second, "127.0.0.1:1", "incarnation", "far")
	tr.onEvent(&remote.EndpointTerminatedEvent{Address: old.Address})
	system.Root.Send(pid, "nothing before")
	if m := <-got; m != "engine-2: nothing before" {
		t.Errorf("got %q", m)
	}
}
