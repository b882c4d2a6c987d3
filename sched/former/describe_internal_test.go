package former

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// picture lets intake ask for a snapshot.
func (v *virtual) picture() *messages.SlotsAudited {
	v.audits = nil
	v.deliver(messages.Former, &messages.AuditSlots{Header: messages.Header{Epoch: 3}, Ticket: 8, Snapshot: &messages.Snapshot{}})
	return v.audits[0]
}

func TestASnapshotHasEachPageAndRequest(t *testing.T) {
	v := audited()
	a := v.picture()
	s := a.Snapshots[0]
	text, _ := s.Pages.MarshalText()
	if !a.OK || s.Epoch != 3 || len(s.Pages) != 40 || s.Steps == nil || len(s.Steps) > 0 || s.Tree == nil {
		t.Fatalf("%+v with %+v", a, s)
	}
	// Three pages of the first request are cached, its last one is free. The second one's
	// prompt has filled two pages, which are in the tree; two more are private.
	if string(text) != "3e1f2p2l32f" {
		t.Errorf("the pages are %s", text)
	}
	r := s.Requests[0]
	if len(s.Requests) != 1 || r.State != messages.StateDecode || r.Prompt != 10 || r.Pages != 4 || r.Shared != 2 || r.Private[0] != (messages.PageRun{First: 7, N: 2}) {
		t.Errorf("the requests are %+v", s.Requests)
	}
	// From now on the shapes of steps are noted.
	v.enqueue(9, 5, nil)
	for range 3 {
		v.step()
	}
	chunks := 0
	for _, st := range v.picture().Snapshots[0].Steps {
		for _, c := range st.Chunks {
			chunks += c.Count
		}
	}
	if chunks != 9 {
		t.Errorf("chunks of %d tokens for a prompt of 9", chunks)
	}
}

// A request in many pieces costs no more than one in a few. Its pages are in the order of
// its tokens, and what is left out is counted.
func TestFewRunsOfARequestAreDescribed(t *testing.T) {
	s := &sequence{req: &messages.EngineRequest{ID: 4}, state: decoding, lease: Lease{Owned: 1, Pages: []messages.Page{9, 50, 51, 20}}}
	if r := s.describe(); len(r.Private) != 2 || r.Private[0] != (messages.PageRun{First: 50, N: 2}) || r.Private[1].First != 20 || r.Hidden != 0 {
		t.Errorf("%+v", r)
	}
	for p := messages.Page(1 << 20); p > 0; p -= 2 {
		s.lease.Pages = append(s.lease.Pages, p)
	}
	if r := s.describe(); len(r.Private) != messages.MostRequestRuns || r.Hidden != 1<<19+3-messages.MostRequestRuns-1 {
		t.Errorf("%d runs and %d hidden pages of %d", len(r.Private), r.Hidden, len(s.lease.Pages))
	}
	if n := testing.AllocsPerRun(10, func() { s.describe() }); n > 12 {
		t.Errorf("%g allocations for %d runs", n, messages.MostRequestRuns)
	}
}

// Steps are noted for a while after the last snapshot only, the newest ones.
func TestStepsAreNotedWhileSomeoneLooks(t *testing.T) {
	var s shapes
	st := &launchedStep{batch: &runBatch{}}
	s.note(st)
	if len(s.list()) != 0 {
		t.Fatal("a step was noted before anyone looked")
	}
	s.watch()
	for range shapesKept + 5 {
		st.id++
		s.note(st)
	}
	if list := s.list(); len(list) != shapesKept || list[0].Step != 6 || list[shapesKept-1].Step != shapesKept+5 {
		t.Errorf("%d steps are kept, from %d on", len(list), list[0].Step)
	}
	for range shapesWatched {
		s.note(st)
	}
	if s.ring != nil || s.left != 0 {
		t.Error("steps are noted for ever")
	}
}

// The counts agree, but a page is leased and in the tree, and another one is lost.
func TestASnapshotFindsAPageOfTwoOwners(t *testing.T) {
	v := audited()
	l := &v.former.batch.running[0].lease
	l.Pages[len(l.Pages)-1] = 2
	v.ask()
	if len(v.failed) > 0 {
		t.Fatalf("counts alone find it: %+v", v.failed)
	}
	if a := v.picture(); a.OK || len(v.failed) != 1 || !strings.Contains(v.failed[0].Cause, "page 2 is leased and evictable") {
		t.Errorf("the answer is %+v, and %+v", a, v.failed)
	}
}
