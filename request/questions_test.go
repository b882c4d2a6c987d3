package request

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// A question about the cache gets exactly one answer: the cache's, or nil when
// the engine is down, or when the epoch ends first.
func TestQuestionsAboutTheCacheAreAnswered(t *testing.T) {
	c := NewCore(NewTable(TableOptions{ContextLength: 16, PoolTokens: 64, Vocab: 10, MaxOpenRequests: 4}), CoreOptions{})
	var out messages.Outbox
	reply := make(chan *messages.CacheDescribed, 4)
	ask := func() {
		out.Reset()
		c.Handle(0, &messages.AskCacheTree{Limits: messages.CacheLimits{Depth: 3}, Reply: reply}, &out)
	}
	answered := func(want *messages.CacheDescribed) {
		t.Helper()
		select {
		case got := <-reply:
			if got != want {
				t.Errorf("the answer is %v, want %v", got, want)
			}
		default:
			t.Error("there was no answer")
		}
	}
	ask()
	answered(nil)
	c.Handle(0, &messages.EpochStarted{Header: messages.Header{Epoch: 1}}, &out)
	ask()
	q := out.Sends[0].Msg.(*messages.DescribeCache)
	if out.Sends[0].To != messages.Cache || q.Epoch != 1 || q.Limits.Depth != 3 {
		t.Fatalf("the cache is asked %+v", q)
	}
	a := &messages.CacheDescribed{Header: messages.Header{Epoch: 1}, Ticket: q.Ticket, View: noView("")}
	c.Handle(0, a, &out)
	answered(a)
	c.Handle(0, a, &out) // again: nothing waits for it
	ask()
	empty := &messages.CacheDescribed{Header: messages.Header{Epoch: 1}, Ticket: q.Ticket + 1} // none of several engines is up
	c.Handle(0, empty, &out)
	answered(nil)
	ask()
	c.Handle(0, &messages.EpochEnded{Header: messages.Header{Epoch: 1}}, &out)
	answered(nil)
	c.Abandon(&messages.AskCacheTree{Reply: reply})
	answered(nil)
	if len(reply) != 0 {
		t.Errorf("%d more answers", len(reply))
	}
}

type noView string

func (v noView) Text(bool) string { return string(v) }
