package engine

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/troupe-engine/troupe/internal/fakemodel"
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
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			h := start(t, s, nil)
			subs := prompts(48)
			h.check(subs, h.read(h.submit(subs...), len(subs)))
			if a := h.audit(); a == nil || !a.OK || a.Count.Leased != 0 || a.Count.Protected != 0 {
				t.Errorf("after all requests: %+v", a)
			}
		})
	}
}

// A panic in any actor, at any of its first messages, costs no request a token.
func TestAPanicInAnyActorIsNoticedByNobody(t *testing.T) {
	for _, role := range []messages.Actor{messages.Intake, messages.Queue, messages.Batch, messages.Cache, messages.Alloc, messages.Runner} {
		t.Run(role.String(), func(t *testing.T) {
			for nth := int64(2); nth <= 20; nth += 3 {
				var seen atomic.Int64
				s := plain
				s.pages, s.chunk = 100, 16
				h := start(t, s, func(spec *Spec) {
					spec.Intercept = func(r messages.Actor, msg any) {
						if r == role && seen.Add(1) == nth {
							panic(fmt.Sprintf("injected into %s at message %d", r, nth))
						}
					}
				})
				subs := prompts(12)
				h.check(subs, h.read(h.submit(subs...), len(subs)))
			}
		})
	}
}

func TestFailedStepsAreNoticedByNobody(t *testing.T) {
	for _, kind := range []fakemodel.FaultKind{fakemodel.FailStep, fakemodel.PanicStep} {
		t.Run(kind.String(), func(t *testing.T) {
			h := start(t, plain, nil)
			h.model.Inject(fakemodel.Fault{Step: 3, Every: 40, Kind: kind})
			subs := prompts(24)
			h.check(subs, h.read(h.submit(subs...), len(subs)))
		})
	}
}

func TestADeviceThatIsGoneEndsTheProcess(t *testing.T) {
	h := start(t, plain, nil)
	h.model.Inject(fakemodel.Fault{Step: 2, Kind: fakemodel.StickyStep})
	h.submit(prompts(3)...)
	select {
	case err := <-h.fatal:
		if err == nil {
			t.Error("no reason given")
		}
	case <-t.Context().Done():
		t.Error("the engine went on")
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
