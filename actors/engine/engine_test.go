package engine

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func TestResultsDependOnTheRequestOnly(t *testing.T) {
	for _, s := range []setup{
		plain,
		{pageSize: 1, pages: 2000, chunk: 7, maxRunning: 64},
		{pageSize: 16, pages: 200, chunk: 64, maxRunning: 4},
		{pageSize: 4, pages: 400, chunk: -1, maxRunning: 1},
		{pageSize: 4, pages: 60, chunk: 16, maxRunning: 16},                  // too small for all at once
		{pageSize: 1, pages: 400, chunk: -1, maxRunning: 16, cacheOff: true}, // nothing shared
		{pageSize: 4, pages: 400, chunk: 7, maxRunning: 16, retractEvery: 3},
	} {
		for _, s.inFlight = range []int{1, 2} {
			t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
				h := start(t, s, nil)
				subs := prompts(48)
				h.check(subs, h.read(h.submit(subs...), len(subs)))
				h.checkBalance()
			})
		}
	}
}

func TestSecondPromptIsCachedButForOneToken(t *testing.T) {
	s := plain
	s.pageSize, s.pages = 1, 1000
	h := start(t, s, nil)
	subs := prompts(2)[1:]
	h.read(h.submit(subs...), 1)
	second := h.read(h.submit(subs...), 1)
	if want := len(subs[0].Prompt) - 1; second[0].usage.CachedTokens != want {
		t.Errorf("cached %d tokens, want %d", second[0].usage.CachedTokens, want)
	}
	h.check(subs, second)
}

// A question before the first epoch runs gets no answer; after Started is closed it
// does.
func TestTheFirstEpochIsWaitedFor(t *testing.T) {
	hold := make(chan struct{})
	h := start(t, plain, func(spec *Spec) { spec.Members[0].OnEpoch = func(messages.Epoch) { <-hold } })
	ask := func() *messages.CacheDescribed {
		reply := make(chan *messages.CacheDescribed, 1)
		h.Send(&messages.AskCacheTree{Reply: reply})
		return <-reply
	}
	if ask() != nil || h.Ready() {
		t.Error("the engine answers before the first epoch has started")
	}
	select {
	case <-h.Started():
		t.Error("Started is closed before the epoch has started")
	default:
	}
	close(hold)
	<-h.Started()
	if ask() == nil || !h.Ready() {
		t.Error("Started is closed and the engine does not answer")
	}
}
