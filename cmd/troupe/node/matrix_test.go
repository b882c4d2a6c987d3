package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// settings are the defaults with a small pool, so that audits are cheap.
func settings(t testing.TB) *configs.Config {
	c := configs.Default()
	c.Pool.MaxTotalTokens = 4096
	c.Requests.QueueTimeout = 0 // the machine may be slow
	return c
}

// open starts a node and closes it at the end of the test.
func open(t testing.TB, c *configs.Config, change func(*engine.Spec)) *Node {
	t.Helper()
	n, err := Open(context.Background(), Options{Config: c, Log: zerolog.Nop(), Engine: change})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, n) })
	return n
}

func shut(t testing.TB, n *Node) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Error(err)
	}
}

var soak = os.Getenv("TROUPE_SOAK") == "1"

// rowChoices is the number of choices of the workload per combination in the plain test, and
// fullChoices with the small pool, which they fill. Every combination takes the next ones,
// so that each choice is tested many times.
const rowChoices, fullChoices = 4, 10

// TestAnswersDependOnTheRequestOnly compares the answers of the embedded model,
// byte for byte, with those that each request gets alone under the defaults. The
// settings are combinations in which every two levels of every two factors meet,
// each with a part of the calls; with TROUPE_SOAK=1 these with all calls, and
// random ones.
func TestAnswersDependOnTheRequestOnly(t *testing.T) {
	calls := workload()
	list := pairwise(factors)
	switch {
	case soak:
		list = append(list, random(factors, 600)...)
	case racedetector.Enabled: // a few with everything at once: only the interleavings count
		calls = calls[:8]
		list = []combination{make(combination, len(factors)), list[len(list)/3], list[len(list)*2/3]}
	}
	var want []string
	t.Run("alone", func(t *testing.T) {
		h := open(t, settings(t), nil).API().Handler()
		for _, call := range calls {
			text, _, err := answer(h, call)
			if err != nil {
				t.Fatalf("call %v: %v", call, err)
			}
			want = append(want, text)
		}
	})
	seen := map[messages.Metric]float64{}
	next := 0
	for i, c := range list {
		if t.Failed() {
			return
		}
		var part []int // of the calls
		limit := rowChoices
		if c[poolFactor] > 0 {
			limit = fullChoices
		}
		for choices := 0; len(part) < len(calls) && (soak || choices < limit); next++ {
			part = append(part, next%len(calls))
			choices += choicesOf(calls[next%len(calls)])
		}
		t.Run(fmt.Sprint(i, " ", c), func(t *testing.T) { c.check(t, calls, want, part, seen) })
	}
	if !racedetector.Enabled {
		t.Logf("%d combinations, %v", len(list), seen)
		for _, m := range exercised {
			// How often memory runs out depends on the machine's pace; with all
			// calls at once it does for sure.
			if seen[m] == 0 && (soak || m != messages.Retractions) {
				t.Errorf("%s is 0: nothing of it was exercised", m)
			}
		}
	}
}

// exercised must have happened in some of the combinations.
var exercised = []messages.Metric{messages.Retractions, messages.EvictedTokens, messages.RequestsAged, messages.KVEvents, messages.CacheHitTokens, messages.ForcedTokens}

// check compares the answers to some of the calls, sent at once, and counts events.
// Retractions count only if memory or a priority caused them.
func (c combination) check(t *testing.T, calls []body, want []string, part []int, seen map[messages.Metric]float64) {
	faults := []*storm{{}, panics(), deviceErrors()}[c[faultsFactor]]
	s := c.settings(t)
	n := open(t, s, func(spec *engine.Spec) {
		if faults.into(spec); c[runsFactor] > 0 {
			spec.Batch.GrammarTokensPerStep = 1
		}
	})
	sent := make([]body, len(part))
	for i, p := range part {
		sent[i] = addressed(calls[p], i, s.Queue.SchedulePolicy == "priority")
	}
	got := answers(t, n.API().Handler(), sent)
	for i, p := range part {
		if got[i] != want[p] {
			t.Errorf("call %v:\ngot  %s\nwant %s", sent[i], got[i], want[p])
		}
	}
	least := 1 // of a few short answers, which may need no plan after the first crash
	switch {
	case soak:
		least = 4
	case s.DataParallel > 1:
		least = 0 // each engine has fewer steps still
	}
	if c[faultsFactor] > 0 && faults.crashes < least {
		t.Errorf("%d crashes were injected, want at least %d", faults.crashes, least)
	}
	balanced(t, n)
	values := n.Meter.Values()
	for _, m := range exercised {
		if m != messages.Retractions || s.Batch.RetractEvery == 0 {
			seen[m] += values[string(m)]
		}
	}
}

// addressed adds to a call what may affect scheduling but not answers: a user, and with
// some policies a priority.
func addressed(call body, i int, priorities bool) body {
	more := body{"user": []string{"ann", "bob", "eve"}[i%3]}
	for k, v := range call {
		more[k] = v
	}
	if priorities {
		more["priority"] = (i * 7) % 23
	}
	return more
}

func choicesOf(call body) int {
	if n, ok := call["sampling_params"].(body)["n"].(int); ok {
		return n
	}
	return 1
}

// TestSecondPromptIsCachedButForOneToken: at page size 1 the whole prompt is cached except
// the last token, from which the next one is sampled.
func TestSecondPromptIsCachedButForOneToken(t *testing.T) {
	c := settings(t)
	c.PageSize = 1
	h := open(t, c, nil).API().Handler()
	ids := []int32{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	call := body{"input_ids": ids, "sampling_params": body{"max_new_tokens": 4, "temperature": 0}}
	first, _, err := answer(h, call)
	if err != nil {
		t.Fatal(err)
	}
	second, cached, err := answer(h, call)
	if err != nil {
		t.Fatal(err)
	}
	if second != first || cached != len(ids)-1 {
		t.Errorf("cached %d of %d tokens; answers %s and %s", cached, len(ids), first, second)
	}
}

// balanced waits until every page is free or in the cache, unlocked.
func balanced(t testing.TB, n *Node) {
	t.Helper()
	h := n.API().Handler()
	eventually(t, "every page to come back", func() bool {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/audit", nil))
		var a struct {
			OK                                                             bool
			Total, Free, Evictable, Protected, Leased, InTransfer, Balance int
		}
		if w.Code != 200 {
			return false // between two epochs
		}
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		all := n.Plan.Pages * len(n.Models)
		if !a.OK || a.Total > all || a.Total%n.Plan.Pages != 0 {
			t.Fatalf("the audit says %s", w.Body)
		}
		return a.Total == all && a.Free+a.Evictable == all // otherwise an engine is between two epochs
	})
}

// eventually waits for a condition that depends on another goroutine.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for tick := time.Tick(5 * time.Millisecond); !holds(); {
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("waited a minute for %s", what)
		}
	}
}
