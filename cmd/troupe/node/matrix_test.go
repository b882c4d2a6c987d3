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
	"github.com/troupe-engine/troupe/sched"
)

var soak = os.Getenv("TROUPE_SOAK") == "1"

// factors are what an answer must not depend on, with their levels.
var factors = []struct {
	name   string
	levels int
	set    func(c *configs.Config, level int)
}{
	{"page", 2, func(c *configs.Config, l int) { c.PageSize = []int{16, 1}[l] }},
	{"chunk", 3, func(c *configs.Config, l int) {
		c.ChunkedPrefillSize = []int{-1, 7, 64}[l]
		c.LatencyTarget = []time.Duration{0, 0, 20 * time.Millisecond}[l] // chunks by the clock
	}},
	{"nocache", 2, func(c *configs.Config, l int) { c.DisableRadixCache = l == 0 }},
	{"running", 3, func(c *configs.Config, l int) { c.MaxRunning = []int{1, 4, 64}[l] }},
	{"retract", 2, func(c *configs.Config, l int) { c.RetractEvery = []int{0, 3}[l] }},
	{"threads", 2, func(c *configs.Config, l int) { c.Threads = []int{1, 2}[l] }},
	{"overlap", 2, func(c *configs.Config, l int) { c.DisableOverlap = l == 0 }},
	{"faults", 3, func(*configs.Config, int) {}}, // none, panics of every actor, device errors
}

const faultsFactor = 7

// combination holds a level for each factor. The zero value is the plainest:
// one request after the other, nothing shared, nothing cut.
type combination [8]int

func (c combination) String() string {
	text := ""
	for i, f := range factors {
		text += fmt.Sprintf(" %s=%d", f.name, c[i])
	}
	return text[1:]
}

// full is the whole matrix.
func full() []combination {
	list := []combination{{}}
	for i, f := range factors {
		for _, c := range list {
			for l := 1; l < f.levels; l++ {
				c[i] = l
				list = append(list, c)
			}
		}
	}
	return list
}

// pair says that two factors stand at two levels.
type pair struct{ i, a, j, b int }

func (c combination) pairs() []pair {
	var list []pair
	for i := range c {
		for j := range i {
			list = append(list, pair{i, c[i], j, c[j]})
		}
	}
	return list
}

// pairwise is a part of the matrix in which every two levels of every two
// factors meet: again and again the combination with the most pairs that have
// not met yet, the first of equals.
func pairwise() []combination {
	open := map[pair]bool{}
	all := full()
	for _, c := range all {
		for _, p := range c.pairs() {
			open[p] = true
		}
	}
	var list []combination
	for len(open) > 0 {
		best, most := combination{}, 0
		for _, c := range all {
			n := 0
			for _, p := range c.pairs() {
				if open[p] {
					n++
				}
			}
			if n > most {
				best, most = c, n
			}
		}
		for _, p := range best.pairs() {
			delete(open, p)
		}
		list = append(list, best)
	}
	return list
}

func TestPairwiseCoversEveryPair(t *testing.T) {
	met := map[pair]bool{}
	subset := pairwise()
	for _, c := range subset {
		for _, p := range c.pairs() {
			met[p] = true
		}
	}
	for _, c := range full() {
		for _, p := range c.pairs() {
			if !met[p] {
				t.Fatalf("%s at level %d never meets %s at level %d", factors[p.i].name, p.a, factors[p.j].name, p.b)
			}
		}
	}
	if len(subset) > 14 || len(full()) != 864 {
		t.Errorf("%d combinations of %d", len(subset), len(full()))
	}
}

// settings are the defaults with a pool that is small enough for the audit to
// be cheap.
func settings(t testing.TB) *configs.Config {
	c, _, err := configs.Load("", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.MaxTotalTokens = 4096
	return c
}

// open starts a node and closes it with the test.
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
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestAnswersDependOnTheRequestOnly compares the answers of the embedded model
// to 64 choices, byte for byte, over the matrix: all of it with TROUPE_SOAK=1, a
// part in which all pairs of levels meet otherwise. The queue's policies take
// turns.
func TestAnswersDependOnTheRequestOnly(t *testing.T) {
	calls := workload()
	list := pairwise()
	switch {
	case soak:
		list = full()
	case raced: // a few with everything at once: only the interleavings count
		calls = calls[:8]
		list = []combination{{}, {1, 1, 1, 2, 1, 1, 1, 1}, {0, 2, 0, 1, 1, 1, 1, 2}}
	}
	var want []string
	t.Run("plain", func(t *testing.T) { // the first of either list
		want = answers(t, open(t, list[0].settings(t), nil).API().Handler(), calls)
	})
	policies := sched.SchedulePolicies()
	for i, c := range list[1:] {
		if t.Failed() {
			return
		}
		policy := policies[(i+1)%len(policies)]
		t.Run(c.String()+" policy="+policy, func(t *testing.T) {
			faults := []*storm{{}, panics(), deviceErrors()}[c[faultsFactor]]
			s := c.settings(t)
			s.SchedulePolicy = policy
			n := open(t, s, faults.into)
			h := n.API().Handler()
			got := answers(t, h, calls)
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("call %v:\ngot  %s\nwant %s", calls[i], got[i], want[i])
				}
			}
			if c[faultsFactor] > 0 && faults.crashes < 4 {
				t.Errorf("%d crashes were injected, want at least 4", faults.crashes)
			}
			balanced(t, n)
		})
	}
}

func (c combination) settings(t testing.TB) *configs.Config {
	s := settings(t)
	for i, f := range factors {
		f.set(s, c[i])
	}
	return s
}

// TestSecondPromptIsCachedButForOneToken: at page size 1 all of a prompt but the
// token from which the next one is sampled.
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
		if !a.OK || a.Total != n.Plan.Pages {
			t.Fatalf("the audit says %s", w.Body)
		}
		return a.Free+a.Evictable == a.Total
	})
}

// eventually waits for a condition that another goroutine brings about.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for tick := time.Tick(5 * time.Millisecond); !holds(); {
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}
