package former

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func TestAFailedAuditTellsOfTheLastPlans(t *testing.T) {
	f := New(Options{PageSize: 1, Pages: 100, MaxRunning: 2, ContextLength: 50})
	for plan := messages.PlanID(1); plan <= historyPlans+3; plan++ {
		f.admin.history.record(&messages.CommitPlan{Plan: plan, Frees: make([]messages.Page, 2), Reserves: []messages.PageReserve{{ID: 1, Pages: int(plan)}},
			Inserts: []messages.PrefixInsert{{Pages: make([]messages.Page, 7), Owned: 3}}})
		f.admin.history.close(&messages.PagesReserved{Plan: plan, Free: 90, Cached: messages.CachePages{Evictable: 4}})
	}
	var out messages.Outbox
	f.admin.out = true
	f.Handle(0, &messages.AuditSlots{Count: messages.PageCount{Free: 99, Total: 100}}, &out)
	var cause string
	for _, s := range out.Sends {
		if m, ok := s.Msg.(*messages.FailEpoch); ok {
			cause = m.Cause
		}
	}
	for _, want := range []string{"audit of KV pages failed", "plan 11: inserted 4, unlocked 0, to evict 0, freed 2, reserved 11, then free 90, evictable 4, protected 0", "plan 4:"} {
		if !strings.Contains(cause, want) {
			t.Errorf("the cause %q lacks %q", cause, want)
		}
	}
	if strings.Contains(cause, "plan 3:") {
		t.Errorf("the history is longer than %d plans: %s", historyPlans, cause)
	}
}
