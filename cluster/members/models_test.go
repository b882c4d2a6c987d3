package members

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
)

func TestOtherWeightsReplaceAModelWithoutEngines(t *testing.T) {
	c := gateway()
	out := meet(t, c, 0, engineAt("one", "1"))
	c.Linked(1, out)
	c.Unlinked(second, 1, "bye", out)
	h := engineAt("two", "2")
	h.Engine.Weights = "new"
	if out := meet(t, c, 2*second, h); len(out.Links) != 0 {
		t.Errorf("within the timeout, %+v", out)
	}
	if out := meet(t, c, 4*second, h); len(out.Links) != 1 || len(out.Learn) != 1 {
		t.Errorf("after it, %+v\n%s", out, texts(out))
	}
}

// Each try may fetch a large file.
func TestAModelThatCannotBeOpenedIsTriedLessAndLess(t *testing.T) {
	c, h := gateway(), engineAt("one", "1")
	c.Propose([]string{h.Address})
	tries, reports := 0, 0
	answers := func(from, to time.Duration, fails error) (out *Outbox) {
		for now := from; now < to; now += 50 * time.Millisecond {
			out = &Outbox{}
			c.Answered(now, h.Address, h, nil, out)
			for _, l := range out.Learn {
				tries++
				c.Learned(now, l.Model.Name, fails, out)
			}
			reports += len(out.Events)
			if len(out.Links) > 0 {
				break
			}
		}
		return out
	}
	answers(0, 90*second, errors.New("no such template"))
	if tries < 5 || tries > 7 || reports != 2 { // it has joined, and is refused
		t.Errorf("%d tries in 90 s and %d events", tries, reports)
	}
	answers(90*second, 121*second, errors.New("connection reset"))
	if reports != 3 {
		t.Errorf("another cause gives %d events", reports-2)
	}
	out := answers(121*second, 152*second, nil)
	if len(out.Links) != 1 {
		t.Errorf("it is not used once it can be opened:\n%s", texts(out))
	}
	// A model in the place of one that failed once is tried soon.
	c, tries = gateway(), 0
	c.Propose([]string{h.Address})
	answers(0, second, errors.New("no such template"))
	h = engineAt("one", "2")
	h.Engine.Weights = "new"
	if out := answers(second, 3*second, nil); tries != 2 || len(out.Links) != 1 {
		t.Errorf("%d tries, and then %+v", tries, out)
	}
}

// While requests wait for their engine, another one with other weights does not get their
// model. Afterwards it does.
func TestWaitingRequestsKeepTheirModel(t *testing.T) {
	waiting := true
	c := gateway()
	c.opt.Resume, c.opt.Busy = time.Minute, func(model string) bool { return waiting && model == "m" }
	meet(t, c, 0, engineAt("one", "1"))
	c.Linked(1, &Outbox{})
	c.Unlinked(second, 1, "its process has ended", &Outbox{})
	two := engineAt("two", "2")
	two.Engine.Weights = "other"
	c.Propose([]string{"one:1", "two:1"})
	asks := func(now time.Duration) bool {
		out := &Outbox{}
		c.Answered(now, "two:1", two, nil, out)
		return len(out.Learn) > 0
	}
	if asks(30 * second) {
		t.Error("the model is replaced while requests wait")
	}
	waiting = false
	if !asks(31 * second) {
		t.Error("the model is not replaced, although nobody needs it")
	}
	waiting = true
	c = gateway()
	c.opt.Resume, c.opt.Busy = time.Minute, func(string) bool { return waiting }
	meet(t, c, 0, engineAt("one", "1"))
	c.Linked(1, &Outbox{})
	c.Unlinked(second, 1, "its process has ended", &Outbox{})
	c.Propose([]string{"two:1"})
	if !asks(2 * time.Minute) {
		t.Error("new requests keep the model for ever")
	}
}

// An engine of the same name calls while this node's own one starts.
func TestTheOwnModelIsNotLearned(t *testing.T) {
	c := gateway()
	c.opt.Own = "m"
	if out := meet(t, c, 0, engineAt("one", "1")); len(out.Learn)+len(out.Links) > 0 {
		t.Errorf("it is learned: %+v", out)
	}
	c.Set(report.Ready, engineAt("gateway", "g").Engine)
	out := &Outbox{}
	c.Answered(second, "one:1", engineAt("one", "1"), nil, out)
	if len(out.Learn) > 0 || len(out.Links) != 1 {
		t.Errorf("then: %+v", out)
	}
}

// Names come and go. A gateway that has the most that are allowed closes the oldest one that
// nobody needs.
func TestModelsWithoutEnginesMakeRoom(t *testing.T) {
	c, now := gateway(), time.Duration(0)
	var forgotten []string
	for i := range mostModels + 10 {
		h := engineAt(fmt.Sprint("e", i), fmt.Sprint(i))
		h.Engine.Name = fmt.Sprint("m", i)
		out := meet(t, c, now, h)
		if len(out.Links) != 1 {
			t.Fatalf("engine %d has no link: %s", i, texts(out))
		}
		forgotten = append(forgotten, out.Forget...)
		c.Linked(out.Links[0].Slot, out)
		if i != 3 { // which stays
			c.Unlinked(now, out.Links[0].Slot, "gone", out)
		}
		now += time.Hour
	}
	if got := fmt.Sprint(forgotten); len(c.models) != mostModels || got != "[m0 m1 m2 m4 m5 m6 m7 m8 m9 m10]" {
		t.Errorf("%d models, closed are %s", len(c.models), got)
	}
}
