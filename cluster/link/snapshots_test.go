package link

import (
	"errors"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// view is the prefix tree of a snapshot.
type view struct{ err error }

func (view) Text(bool) string { return "" }

func (v view) MarshalJSON() ([]byte, error) { return []byte(`{"nodes":5}`), v.err }

// A question for a snapshot ends no link: of a pool that is larger than any map between
// nodes cells arrive, and a snapshot that cannot be written is left out.
func TestNoSnapshotEndsALink(t *testing.T) {
	pool := make(messages.PageMap, 1<<24+1)
	for i := range pool {
		pool[i] = messages.PageFree
	}
	count := messages.PageCount{Free: len(pool), Total: len(pool)}
	for name, s := range map[string]*messages.Snapshot{"whole": {Pages: pool, Tree: view{}}, "left out": {Pages: pool, Tree: view{errors.New("oops")}}} {
		p := newPair(t, Options{})
		p.begin()
		p.toEngine(&messages.AuditSlots{Header: p.here(), Ticket: 9, Snapshot: &messages.Snapshot{}})
		p.deliverAll()
		if ask := p.ported[0].(*messages.AuditSlots); ask.Snapshot == nil || ask.Ticket != 9 {
			t.Fatalf("the portal gets %+v", ask)
		}
		s.Count = count
		p.dispatched = nil
		p.toGateway(&messages.SlotsAudited{Header: p.there(), Ticket: 9, OK: true, Count: count, Snapshots: []*messages.Snapshot{s}})
		p.deliverAll()
		if p.engine.Over() || p.gateway.Over() || len(p.dispatched) != 1 {
			t.Fatalf("%s: the link ended: %s, %s", name, p.engine.Cause(), p.gateway.Cause())
		}
		got := p.dispatched[0].(*messages.SlotsAudited)
		if one := got.Snapshots[0]; one.Engine != slotHere || one.Epoch != p.here().Epoch || one.Count != count || (one.LeftOut != "") != (name == "left out") {
			t.Errorf("%s: dispatch gets %+v", name, one)
		}
	}
}
