package replay

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/sched/route"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// big are options of an 8B model on an H200, and the Mooncake conversation
// trace.
func big(t testing.TB) (Options, trace.Reader) {
	t.Helper()
	file := conformance.Path(t, "traces", "mooncake", "conversation_trace.jsonl")
	g, err := costmodel.Lookup("h200")
	if err != nil {
		t.Fatal(err)
	}
	m, err := costmodel.LookupModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	from, err := trace.Open(file, "mooncake", trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close() })
	opt := Defaults()
	opt.GPU, opt.Model = g, m
	return opt, from
}

// The first 500 requests. Builds with invariants audit every page after every
// step; a replay that ends has no request, lease or lock left.
func TestConformanceConversationBegins(t *testing.T) {
	for replicas, requests := range map[int]int{1: 500, 4: 150} {
		opt, from := big(t)
		opt.Limit, opt.Replicas = requests, replicas
		kept := &list{}
		for range opt.Limit {
			r, err := from.Next()
			if err != nil {
				t.Fatal(err)
			}
			kept.requests = append(kept.requests, *r)
		}
		check(t, kept, run(t, kept, opt))
	}
}

// soak skips long tests. With the invariants on, every message of such a run checks
// every page, which takes hours.
func soak(t *testing.T) {
	t.Helper()
	if os.Getenv("TROUPE_SOAK") == "" {
		t.Skip("TROUPE_SOAK is not set")
	}
	if invariants.Enabled {
		t.Skip("takes hours with the invariants on; make soak runs it without")
	}
}

// The whole trace, twice: with equal reports, in bounded memory.
func TestConformanceSoakWholeConversation(t *testing.T) {
	soak(t)
	for _, replicas := range []int{1, 16} {
		var reports [2][]byte
		for i := range reports {
			opt, from := big(t)
			opt.Replicas = replicas
			start := time.Now()
			r := run(t, from, opt)
			took := time.Since(start)
			if r.Requests.Finished != 12031 || r.Tokens.Prompt != 144_793_823 {
				t.Errorf("%+v of %+v", r.Requests, r.Tokens)
			}
			var err error
			if reports[i], err = json.Marshal(r); err != nil {
				t.Fatal(err)
			}
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			t.Logf("%d replicas: %v, %d MiB from the system", replicas, took, mem.Sys>>20)
		}
		if !bytes.Equal(reports[0], reports[1]) {
			t.Errorf("%d replicas: two replays differ", replicas)
		}
	}
}

// The routing policies on the whole trace: by prefix finds the most.
func TestConformanceSoakRouting(t *testing.T) {
	soak(t)
	best := 0.0
	for _, routing := range route.Policies() {
		opt, from := big(t)
		opt.Replicas, opt.Routing = 16, routing
		r := run(t, from, opt)
		t.Logf("%-12s hit ratio %.4f, TTFT mean %.3f p99 %.3f, ITL p99 %.4f", routing, r.Cache.HitRatio, r.TTFT.Mean, r.TTFT.P99, r.ITL.P99)
		if routing == route.CacheAware {
			best = r.Cache.HitRatio
		} else if r.Cache.HitRatio >= best {
			t.Errorf("%s hits %v, cache-aware %v", routing, r.Cache.HitRatio, best)
		}
	}
}

// Several gateways find what one finds, and first tokens come hardly later.
func TestConformanceSoakGateways(t *testing.T) {
	soak(t)
	opt, from := big(t)
	opt.Replicas = 16
	one := run(t, from, opt)
	for _, gateways := range []int{1, 2, 4, 8} {
		for _, delay := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond} {
			opt, from := big(t)
			opt.Replicas, opt.Gateways, opt.EventDelay = 16, gateways, delay
			r := run(t, from, opt)
			hits, first := r.Cache.HitRatio/one.Cache.HitRatio, r.TTFT.P99/one.TTFT.P99
			t.Logf("%d gateways, %v: hit ratio %.4f, %.3f of one's; TTFT p99 %.3f, %.3f of one's", gateways, delay, r.Cache.HitRatio, hits, r.TTFT.P99, first)
			if hits < 0.95 || first > 1.2 {
				t.Errorf("%d gateways with events after %v: hit ratio %v and TTFT p99 %v of one gateway's", gateways, delay, hits, first)
			}
		}
	}
}
