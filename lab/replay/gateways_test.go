package replay

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// busy keeps three replicas of small options busy.
func busy(seed uint64) *list { return conversations(seed, 60, 5, 25*time.Millisecond) }

// A gateway in a process of its own that hears of everything at once gets what a router in the
// engines' process gets: portal and dispatch change nothing.
func TestOneGatewayIsLikeOneProcess(t *testing.T) {
	opt := small(t)
	opt.Replicas = 3
	one := run(t, busy(1), opt)
	opt.LoseReplica = time.Hour // never: a gateway and engines in processes of their own
	other := run(t, busy(1), opt)
	if one.Setup.Gateways != 0 || other.Setup.Gateways != 1 {
		t.Fatalf("the setups are %+v and %+v", one.Setup, other.Setup)
	}
	one.Setup, one.Warnings, one.Series = other.Setup, other.Warnings, other.Series
	if !reflect.DeepEqual(one, other) {
		t.Errorf("one process: %+v\na gateway: %+v", one, other)
	}
}

func TestGatewaysAddUp(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"late events":    func(o *Options) { o.EventDelay = 50 * time.Millisecond },
		"two":            func(o *Options) { o.Gateways = 2 },
		"more than work": func(o *Options) { o.Gateways = 64 },
		"of one engine":  func(o *Options) { o.Gateways, o.Replicas = 4, 1 },
		"tight pool":     func(o *Options) { o.Gateways, o.KVTokens, o.EventDelay = 4, 8192, 10*time.Millisecond },
		"no cache":       func(o *Options) { o.Gateways, o.CacheDisabled = 4, true },
		"random":         func(o *Options) { o.Gateways, o.Routing = 4, "random" },
		"round robin":    func(o *Options) { o.Gateways, o.Routing = 4, "round-robin" },
		"least loaded":   func(o *Options) { o.Gateways, o.Routing = 4, "least-loaded" },
		"little waiting": func(o *Options) { o.Gateways, o.WaitingTokens = 4, 1 },
		"one lost":       func(o *Options) { o.Gateways, o.LoseReplica, o.Restart = 4, time.Second, time.Second },
		"one lost, back at once": func(o *Options) {
			o.LoseReplica, o.Restart, o.EventDelay = time.Second, 0, 100*time.Millisecond
		},
		"one lost for good": func(o *Options) { o.Gateways, o.LoseReplica, o.Restart = 2, time.Second, time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			opt, from := small(t), conversations(2, 25, 4, 10*time.Millisecond)
			opt.Replicas = 3
			change(&opt)
			var all [2]bytes.Buffer
			for i := range all {
				from.next = 0
				r := run(t, from, opt)
				check(t, from, r)
				if lost := opt.LoseReplica > 0; lost != (r.Requests.Moved > 0) {
					t.Errorf("%d requests are moved; notes %q", r.Requests.Moved, r.Warnings)
				}
				if err := json.NewEncoder(&all[i]).Encode(r); err != nil {
					t.Fatal(err)
				}
				if err := r.WriteText(&all[i]); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(all[0].Bytes(), all[1].Bytes()) {
				t.Error("two replays differ")
			}
		})
	}
}

// The requests of a lost replica wait longer, and what it had cached is computed again.
func TestLosingAReplicaCosts(t *testing.T) {
	opt := small(t)
	opt.Replicas, opt.Gateways, opt.Restart = 3, 2, 5*time.Second
	all := run(t, busy(3), opt)
	opt.LoseReplica = 4 * time.Second
	less := run(t, busy(3), opt)
	if less.Cache.HitRatio >= all.Cache.HitRatio || less.TTFT.Mean <= all.TTFT.Mean {
		t.Errorf("with a loss: hit ratio %v, TTFT %v; without: %v, %v", less.Cache.HitRatio, less.TTFT.Mean, all.Cache.HitRatio, all.TTFT.Mean)
	}
	if less.Setup.LoseReplica != 4 || less.Setup.Restart != 5 {
		t.Errorf("the setup is %+v", less.Setup)
	}
	var text bytes.Buffer
	if err := less.WriteText(&text); err != nil || !strings.Contains(text.String(), "moved to another engine") {
		t.Errorf("%v, the text is %s", err, text.String())
	}
}

// Several gateways find nearly what one finds, although each knows only its own requests
// at once. Here six requests come between two reports; each takes 50 ms. One trace has too
// few requests for a quantile, so there are several.
func TestGatewaysFindWhatOneFinds(t *testing.T) {
	mean := func(gateways int, delay time.Duration) (hits, late float64) {
		const traces = 8
		for seed := range uint64(traces) {
			opt := small(t)
			opt.Replicas, opt.Gateways, opt.EventDelay = 8, gateways, delay
			r := run(t, conversations(seed+1, 60, 6, 40*time.Millisecond), opt)
			hits, late = hits+r.Cache.HitRatio/traces, late+r.TTFT.P99/traces
		}
		return hits, late
	}
	hits, late := mean(1, 0)
	manyHits, manyLate := mean(4, 10*time.Millisecond)
	t.Logf("hit ratio %.3f, TTFT p99 %.3f s; one gateway: %.3f, %.3f s", manyHits, manyLate, hits, late)
	if manyHits < 0.95*hits || manyLate > 1.5*late {
		t.Errorf("hit ratio %v, TTFT p99 %v; one gateway: %v, %v", manyHits, manyLate, hits, late)
	}
}

func TestALossAfterTheEndIsNoted(t *testing.T) {
	opt := small(t)
	opt.Replicas, opt.LoseReplica = 2, time.Hour
	r := run(t, conversations(1, 3, 2, time.Millisecond), opt)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "no replica was lost") {
		t.Errorf("notes %q", r.Warnings)
	}
}
