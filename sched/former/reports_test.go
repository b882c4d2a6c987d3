package former

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// Results that intake has read are used again, but not more than can be under way,
// and not while the queue may also read them.
func TestResultsAreRecycled(t *testing.T) {
	for _, toQueue := range []bool{false, true} {
		o := options(func(o *Options) { o.ReportToQueue = toQueue })
		r, out := reports{opt: &o}, messages.Outbox{}
		r.newlyAdmitted = []messages.RequestID{7}
		r.end(8)
		var sent []*messages.StepResults
		for range maxFreeResults + 2 {
			m := r.next(messages.StepID(len(sent)))
			m.Tokens = append(m.Tokens, messages.TokenResult{ID: 7})
			r.send(m, &out)
			sent = append(sent, m)
		}
		if m := sent[0]; m.Seq != 1 || len(m.Admitted) != 1 || len(m.Ended) != 1 || len(sent[1].Admitted)+len(sent[1].Ended) != 0 {
			t.Errorf("the first results are %+v, the second %+v", sent[0], sent[1])
		}
		for _, m := range sent {
			r.recycle(m)
		}
		want := maxFreeResults
		if toQueue {
			want = 0
		}
		if len(r.freeList) != want {
			t.Errorf("to the queue %t: %d results are kept, want %d", toQueue, len(r.freeList), want)
		}
		if m := r.next(9); len(m.Tokens)+len(m.Ended)+len(m.Admitted) != 0 || m.Seq != uint64(len(sent)+1) {
			t.Errorf("results begin with %+v", m)
		}
	}
}
