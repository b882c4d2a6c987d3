package members

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

const second = time.Second

func gateway() *Core {
	return New(Options{Timeout: 2 * second, Self: &wire.Hello{Protocol: Protocol, Cluster: "prod", Node: "gateway", Incarnation: "g", Address: "g:1", Gateway: true, State: report.Ready}})
}

// engineAt is the hello of an engine.
func engineAt(node, incarnation string) *wire.Hello {
	return &wire.Hello{Protocol: Protocol, Cluster: "prod", Node: node, Incarnation: incarnation, Address: node + ":1", State: report.Ready,
		Engine: &wire.Model{Name: "m", Weights: "w", Texts: "t", Fingerprint: "f", Context: 100, Vocab: 10, PoolTokens: 1000, PageSize: 16, Running: 4}}
}

// meet has a core learn of an engine by a call, and opens its model if it asks for it.
func meet(t *testing.T, c *Core, now time.Duration, h *wire.Hello) *Outbox {
	t.Helper()
	out := &Outbox{}
	c.Propose([]string{h.Address})
	c.Answered(now, h.Address, h, nil, out)
	for _, l := range out.Learn {
		c.Learned(now, l.Model.Name, nil, out)
	}
	return out
}

func texts(out *Outbox) string {
	var b strings.Builder
	for _, e := range out.Events {
		fmt.Fprintf(&b, "%s %s: %s\n", e.Kind, e.Node, e.Text)
	}
	return b.String()
}

func TestAnEngineGetsALinkOnceItsModelIsOpen(t *testing.T) {
	c, out := gateway(), &Outbox{}
	c.Propose([]string{"one:1"})
	c.Tick(0, out)
	if len(out.Calls) != 1 || out.Calls[0] != "one:1" {
		t.Fatalf("calls %v", out.Calls)
	}
	*out = Outbox{}
	c.Tick(second, out)
	if len(out.Calls) != 0 {
		t.Errorf("a second call while the first one is open: %v", out.Calls)
	}
	c.Answered(second, "one:1", engineAt("one", "1"), nil, out)
	if len(out.Learn) != 1 || len(out.Links) != 0 {
		t.Fatalf("before its model is known: %+v", out)
	}
	*out = Outbox{}
	c.Learned(second, "m", nil, out)
	if len(out.Links) != 1 || out.Links[0].Slot != 1 || out.Links[0].Hello.Node != "one" {
		t.Fatalf("links %+v", out.Links)
	}
	*out = Outbox{}
	c.Linked(1, out)
	c.Answered(2*second, "one:1", engineAt("one", "1"), nil, out)
	if len(out.Links) != 0 {
		t.Errorf("a second link: %+v", out.Links)
	}
	c.Unlinked(3*second, 1, "cut", out)
	c.Answered(3*second+retry, "one:1", engineAt("one", "1"), nil, out)
	if len(out.Links) != 1 {
		t.Errorf("no new link after the first one was over: %+v", out)
	}
}

func TestLinksThatCannotBeOpenedAreTriedLessAndLess(t *testing.T) {
	c := gateway()
	h := engineAt("one", "1")
	opened := len(meet(t, c, 0, h).Links)
	for now := time.Duration(0); now < 60*second; now += 50 * time.Millisecond {
		out := &Outbox{}
		for slot := range c.slots {
			c.Unlinked(now, slot, "refused", out)
		}
		c.Answered(now, h.Address, h, nil, out)
		opened += len(out.Links)
	}
	if opened < 25 || opened > 45 {
		t.Errorf("%d tries in a minute; with %v between two at most, there are about 35", opened, longest)
	}
}

// A node found at a name, which says that others reach it at an address, is one node. With
// two links to it each one would end the other.
func TestANodeWithTwoAddressesIsOneNode(t *testing.T) {
	c, out := gateway(), &Outbox{}
	c.Propose([]string{"name:1"})
	h := engineAt("one", "1")
	links, calls := 0, map[string]int{}
	answer := func(now time.Duration) {
		c.Tick(now, out)
		for _, address := range out.Calls {
			calls[address]++
			c.Answered(now, address, h, nil, out)
		}
		for _, l := range out.Learn {
			c.Learned(now, l.Model.Name, nil, out)
		}
		for _, l := range out.Links {
			links++
			c.Linked(l.Slot, out)
		}
		out.Calls, out.Learn, out.Links = nil, nil, nil
	}
	for now := time.Duration(0); now < 20*second; now += 50 * time.Millisecond {
		answer(now)
	}
	if links != 1 {
		t.Errorf("%d links", links)
	}
	if got := strings.Count(texts(out), "joined one"); got != 1 {
		t.Errorf("it has joined %d times:\n%s", got, texts(out))
	}
	list := c.List(20 * second)
	if len(list) != 1 || !list[0].Linked || list[0].Hello.Address != "one:1" {
		t.Errorf("nodes: %+v", list)
	}
	if calls["one:1"] < 30 || calls["name:1"] < 5 || calls["name:1"] > 15 {
		t.Errorf("calls: %v", calls)
	}
	// The name leads to a new process after the old one has ended.
	h = engineAt("one", "2")
	h.Address = "two:1"
	for now := 30 * second; now < 40*second; now += 50 * time.Millisecond {
		c.Tick(now, out)
		for _, address := range out.Calls {
			if address == "one:1" {
				c.Answered(now, address, nil, errors.New("refused"), out)
			} else {
				c.Answered(now, address, h, nil, out)
			}
		}
		for slot, p := range c.slots {
			if p.hello.Incarnation == "1" {
				c.Unlinked(now, slot, "cut", out)
			}
		}
		for _, l := range out.Links {
			c.Linked(l.Slot, out)
		}
		out.Calls, out.Links = nil, nil
	}
	list = c.List(40 * second)
	if len(list) != 2 || !list[0].Lost || !list[1].Linked || list[1].Hello.Address != "two:1" {
		t.Errorf("nodes: %+v", list)
	}
}

func TestAnotherNodeWithThisNodesAddressIsRefused(t *testing.T) {
	const want = "node two and node gateway both say that others reach them at g:1; set another cluster-advertise on one of them"
	c, out := gateway(), &Outbox{}
	h := engineAt("two", "2")
	h.Address = "g:1"
	c.Propose([]string{"two:1"})
	c.Answered(0, "two:1", h, nil, out)
	if got := texts(out); got != "refused two: "+want+"\n" {
		t.Errorf("events\n%s", got)
	}
	if err := c.Called(0, h, out); err == nil || err.Error() != want {
		t.Errorf("the caller got %v", err)
	}
	if len(out.Learn)+len(out.Links) > 0 {
		t.Errorf("it is used: %+v", out)
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(h *wire.Hello)
		want   string
	}{
		{"protocol", func(h *wire.Hello) { h.Protocol = 2 }, "speaks version 2 of the cluster's protocol"},
		{"cluster", func(h *wire.Hello) { h.Cluster = "test" }, `belongs to cluster "test", and node gateway to cluster "prod"`},
		{"own name", func(h *wire.Hello) { h.Node = "gateway" }, "two nodes have the name gateway"},
		{"name twice", func(h *wire.Hello) { h.Node = "one" }, "two nodes have the name one: one at one:1 and one at two:1"},
		{"weights", func(h *wire.Hello) { h.Engine.Weights = "x" }, "engine two is not used: its model m differs from that of the engines which this gateway already has (other weights)"},
		{"texts", func(h *wire.Hello) { h.Engine.Texts = "x" }, "another tokenizer, chat template or defaults"},
		{"context", func(h *wire.Hello) { h.Engine.Context = 50 }, "a context of 50 tokens instead of 100"},
		{"no hash", func(h *wire.Hello) { h.Engine.Weights = "" }, "has no name, hash or fingerprint"},
		{"sizes", func(h *wire.Hello) { h.Engine.Vocab = -1 }, "impossible sizes"},
		{"long", func(h *wire.Hello) { h.Version = strings.Repeat("x", 2000) }, "2000 bytes"},
		{"addresses", func(h *wire.Hello) { h.Known = make([]string, mostPeers+1) }, "1025 addresses"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := gateway()
			out := meet(t, c, 0, engineAt("one", "1"))
			c.Linked(out.Links[0].Slot, out)
			h := engineAt("two", "2")
			test.change(h)
			out = &Outbox{}
			err := c.Called(second, h, out)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(texts(out), test.want) {
				t.Errorf("the caller got %v, and the events are\n%s", err, texts(out))
			}
			if len(out.Links)+len(out.Learn) > 0 {
				t.Errorf("it is used: %+v", out)
			}
			before := len(out.Events)
			c.Called(second, h, out)
			if len(out.Events) != before {
				t.Errorf("the same refusal is reported again:\n%s", texts(out))
			}
		})
	}
}

// A refused node goes on calling, and its own address does not answer: it refuses this node.
func TestARefusalIsReportedOnce(t *testing.T) {
	c, events := gateway(), 0
	h := engineAt("gateway", "2")
	h.Address = "two:1"
	tick := func(now time.Duration, calls bool) {
		out := &Outbox{}
		if calls && c.Called(now, h, out) == nil {
			t.Fatal("it is accepted")
		}
		c.Tick(now, out)
		for _, address := range out.Calls {
			c.Answered(now, address, nil, errors.New("refused"), out)
		}
		events += strings.Count(texts(out), "two nodes have the name gateway")
	}
	for now := time.Duration(0); now < time.Minute; now += longest {
		tick(now, true)
	}
	if events != 1 {
		t.Errorf("the refusal is reported %d times", events)
	}
	for now := time.Minute; now < 2*time.Minute; now += longest {
		tick(now, false)
	}
	if len(c.peers) != 0 {
		t.Errorf("its address is kept: %+v", c.peers)
	}
}

// A process that dies and comes back at the same address is not a second node of its name.
func TestARestartedNodeIsNotRefused(t *testing.T) {
	c := gateway()
	out := meet(t, c, 0, engineAt("one", "1"))
	c.Linked(1, out)
	*out = Outbox{}
	c.Unlinked(second, 1, "reset", out)
	if err := c.Called(second, engineAt("one", "2"), out); err != nil {
		t.Errorf("refused: %v", err)
	}
	c.Answered(second+retry, "one:1", engineAt("one", "2"), nil, out)
	if len(out.Links) != 1 || !strings.Contains(texts(out), "a new process answers at this address") {
		t.Errorf("links %v, events\n%s", out.Links, texts(out))
	}
}

func TestALostNodeIsReportedOnceAndForgotten(t *testing.T) {
	c := gateway()
	meet(t, c, 0, engineAt("one", "1"))
	c.slots, c.peers["one:1"].slot = map[messages.EngineID]*peer{}, 0
	c.Propose(nil)
	lost := 0
	for now := second; now < 11*time.Minute; now += second {
		out := &Outbox{}
		c.Tick(now, out)
		for _, address := range out.Calls {
			c.Answered(now, address, nil, errors.New("refused"), out)
		}
		lost += strings.Count(texts(out), "lost one")
	}
	if lost != 1 || len(c.List(0)) != 0 {
		t.Errorf("it was lost %d times, and the list is %v", lost, c.List(0))
	}
}

// Whatever nodes say and when, the invariants hold and nothing grows without bound.
func TestAnyHellos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := gateway()
		now := time.Duration(0)
		nodes := rapid.IntRange(1, 8).Draw(t, "nodes")
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond
			out := &Outbox{}
			node := fmt.Sprint("n", rapid.IntRange(1, nodes).Draw(t, "node"))
			h := engineAt(node, fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "incarnation")))
			h.Engine.Weights = rapid.SampledFrom([]string{"w", "w", "w", "x"}).Draw(t, "weights")
			h.Known = []string{fmt.Sprint("n", rapid.IntRange(1, 2*nodes).Draw(t, "known"), ":1")}
			at := h.Address
			if rapid.IntRange(0, 3).Draw(t, "odd") == 0 {
				h.Address = fmt.Sprint("n", rapid.IntRange(1, nodes).Draw(t, "address"), ":1")
				h.State = rapid.SampledFrom([]string{report.Ready, report.Leaving}).Draw(t, "state")
				h.Incarnation = rapid.SampledFrom([]string{h.Incarnation, "g"}).Draw(t, "own")
			}
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				c.Tick(now, out)
			case 1:
				c.Propose([]string{at, "nobody:1"})
			case 2:
				c.Called(now, h, out)
			case 3:
				c.Answered(now, at, h, nil, out)
			case 4:
				c.Answered(now, at, nil, errors.New("no"), out)
			case 5:
				for slot := range c.slots {
					c.Linked(slot, out)
				}
			case 6:
				for slot := range c.slots {
					c.Unlinked(now, slot, "cut", out)
					break
				}
			}
			for _, l := range out.Learn {
				var err error
				if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
					err = errors.New("broken")
				}
				c.Learned(now, l.Model.Name, err, out)
			}
			for _, l := range out.Links {
				m := c.models[l.Hello.Engine.Name]
				if m == nil || m.state != open || differ(m.facts, l.Hello.Engine) != "" {
					t.Fatalf("a link to %v, but the model is %+v", l.Hello, m)
				}
			}
			for slot, p := range c.slots {
				if p.slot != slot || slot == 0 || c.peers[p.address] != p || p.hello == nil {
					t.Fatalf("slot %d has the peer %+v", slot, p)
				}
			}
			for address, p := range c.peers {
				if p.address != address || p.slot != 0 && c.slots[p.slot] != p {
					t.Fatalf("peer %q: %+v", address, p)
				}
			}
			if len(c.peers) > 2*nodes+1 {
				t.Fatalf("%d peers of %d nodes", len(c.peers), nodes)
			}
			if !proto.Equal(c.Hello(now).Engine, c.self.Engine) {
				t.Fatal("the hello has changed")
			}
		}
	})
}

func TestANodeThatLeavesIsNotLost(t *testing.T) {
	c, one := gateway(), engineAt("one", "1")
	meet(t, c, 0, one)
	last := proto.Clone(one).(*wire.Hello)
	last.State, last.Engine = report.Leaving, nil
	out := &Outbox{}
	if err := c.Called(second, last, out); err != nil || !strings.Contains(texts(out), "left one: node one at one:1 has shut down") {
		t.Fatalf("%v, %s", err, texts(out))
	}
	if list, known := c.List(second), c.Hello(second).Known; len(list) != 0 || len(known) != 0 {
		t.Errorf("a node that has left is in the list %+v, or known to others %v", list, known)
	}
	// An answer that was on its way, and silence: neither joins nor loses it.
	*out = Outbox{}
	c.Answered(second, "one:1", one, nil, out)
	c.Unlinked(second, 1, "goodbye", out)
	c.Answered(2*second, "one:1", nil, errors.New("refused"), out)
	c.Tick(time.Minute, out)
	if got := texts(out); strings.Contains(got, "joined") || strings.Contains(got, "lost") || len(out.Links) > 0 {
		t.Errorf("%s%+v", got, out.Links)
	}
	// Another process at the same address, and one that leaves before anybody has met it.
	*out = Outbox{}
	meet(t, c, time.Minute, engineAt("one", "2"))
	if list := c.List(time.Minute); len(list) != 1 || list[0].Hello.Incarnation != "2" || list[0].Lost {
		t.Errorf("the next process: %+v", list)
	}
	two := engineAt("two", "1")
	two.State, two.Engine = report.Leaving, nil
	if err := c.Called(time.Minute, two, out); err != nil || len(c.List(time.Minute)) != 1 {
		t.Errorf("%v, %+v", err, c.List(time.Minute))
	}
	if got := c.Leave(); len(got) != 1 || got[0] != "one:1" || c.Hello(0).State != report.Leaving || c.Hello(0).Engine != nil {
		t.Errorf("this node tells %v, %+v", got, c.Hello(0))
	}
}

func TestANodeThatShutsDownOpensNoLinks(t *testing.T) {
	c := gateway()
	out := meet(t, c, 0, engineAt("one", "1"))
	c.Linked(1, out)
	c.Leave()
	*out = Outbox{}
	c.Unlinked(second, 1, "goodbye", out)
	if err := c.Called(2*second, engineAt("one", "1"), out); err != nil {
		t.Errorf("the engine's call is refused: %v", err)
	}
	c.Called(2*second, engineAt("two", "2"), out)
	c.Learned(2*second, "m", nil, out)
	if len(out.Links)+len(out.Learn) > 0 {
		t.Errorf("it opens %+v", out)
	}
	if c.Set(report.Ready, engineAt("one", "1").Engine); c.Hello(second).State != report.Leaving || c.Hello(second).Engine != nil {
		t.Errorf("its last hello has changed: %+v", c.Hello(second))
	}
}

// A node that says another address, or this node's incarnation, while it has a link keeps
// its link and its place, and is used again after that.
func TestAnOddHelloOfALinkedNode(t *testing.T) {
	for what, change := range map[string]func(*wire.Hello){
		"another address": func(h *wire.Hello) { h.Address = "two:1" },
		"our incarnation": func(h *wire.Hello) { h.Incarnation = "g" },
	} {
		c, one := gateway(), engineAt("one", "1")
		out := meet(t, c, 0, one)
		c.Linked(1, out)
		odd := proto.Clone(one).(*wire.Hello)
		change(odd)
		*out = Outbox{}
		c.Answered(second, "one:1", odd, nil, out)
		if list := c.List(second); len(list) != 1 || !list[0].Linked || len(out.Links) > 0 {
			t.Errorf("%s: nodes %+v, links %+v", what, list, out.Links)
		}
		c.Unlinked(2*second, 1, "cut", out)
		c.Answered(3*second, "one:1", one, nil, out)
		if len(out.Links) != 1 || !strings.Contains(texts(out), "the link to engine one is over: cut") {
			t.Errorf("%s: links %+v\n%s", what, out.Links, texts(out))
		}
	}
}

// Any node can say that another one leaves. The latter is back when it answers later.
func TestANodeThatStaysAfterALastHello(t *testing.T) {
	c, one := gateway(), engineAt("one", "1")
	out := meet(t, c, 0, one)
	c.Linked(1, out)
	lie := proto.Clone(one).(*wire.Hello)
	lie.State, lie.Engine = report.Leaving, nil
	*out = Outbox{}
	c.Called(second, lie, out)
	c.Answered(3*second, "one:1", one, nil, out) // to a call that may be older
	c.Called(4*second, one, out)                 // anybody may say so
	c.Answered(4*second, "one:1", lie, nil, out)
	if list := c.List(4 * second); len(list) != 0 || strings.Count(texts(out), "left one") != 1 {
		t.Errorf("it is back already: %+v\n%s", list, texts(out))
	}
	c.Answered(4*second, "one:1", one, nil, out)
	if list := c.List(4 * second); len(list) != 1 || !list[0].Linked || !strings.Contains(texts(out), "joined one") {
		t.Errorf("it is not back: %+v\n%s", list, texts(out))
	}
	*out = Outbox{}
	c.Unlinked(5*second, 1, "cut", out)
	c.Answered(6*second, "one:1", one, nil, out)
	if len(out.Links) != 1 {
		t.Errorf("it gets no link again: %s", texts(out))
	}
}

// What is not about a node names none.
func TestEventsOfAddressesAndModelsNameNoNode(t *testing.T) {
	c, out := gateway(), &Outbox{}
	c.Propose([]string{"one:1"})
	for range patience {
		c.Answered(0, "one:1", nil, errors.New("connection refused"), out)
	}
	h := engineAt("one", "1")
	c.Answered(0, "one:1", h, nil, out)
	c.Learned(0, "m", errors.New("no such template"), out)
	c.Learned(0, "m", nil, out)
	const want = "unreachable : the node at one:1 cannot be used: connection refused\njoined one: node one has joined at one:1\n" +
		"refused : the model m cannot be used by this gateway: no such template\nmodel : this gateway now serves the model m\n"
	if got := texts(out); got != want {
		t.Errorf("%s", got)
	}
}

// A link that can be opened but does not work is opened less and less often.
func TestALinkThatNeverWorksIsTriedLessAndLess(t *testing.T) {
	c, links := gateway(), 0
	meet(t, c, 0, engineAt("one", "1"))
	for now := time.Duration(0); now < time.Minute; now += 50 * time.Millisecond {
		out := &Outbox{}
		if c.slots[1] != nil && !c.slots[1].linked {
			c.Linked(1, out)
		} else if c.slots[1] != nil && now-c.slots[1].begun > 2*second {
			c.Unlinked(now, 1, "nothing was heard from the peer for 2s", out)
		}
		c.Answered(now, "one:1", engineAt("one", "1"), nil, out)
		links += len(out.Links)
	}
	if links > 17 {
		t.Errorf("%d links in a minute", links)
	}
}
