package replay

import (
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/sched/route"
)

// With one request at a time, LRU keeps in a bigger pool whatever it keeps in a
// smaller one (Mattson et al., 1970), so more memory never finds less.
func TestMoreMemoryNeverHitsLess(t *testing.T) {
	opt := small(t)
	last, grew := -1, false
	for _, tokens := range []int{5 << 10, 8 << 10, 12 << 10, 16 << 10, 24 << 10, 32 << 10, 64 << 10, 128 << 10} {
		opt.KVTokens = tokens
		r := run(t, conversations(1, 40, 5, 10*time.Second), opt)
		if r.Tokens.Cached < last {
			t.Errorf("%d tokens of memory find %d tokens, less memory found %d", tokens, r.Tokens.Cached, last)
		}
		grew = grew || last >= 0 && r.Tokens.Cached > last
		last = r.Tokens.Cached
	}
	if !grew {
		t.Error("memory changes nothing: the test tests nothing")
	}
}

// lpm admits first what is cached, so under pressure it finds more than fcfs.
func TestLongestPrefixFirstHitsMore(t *testing.T) {
	opt := small(t)
	opt.KVTokens = 16 << 10
	fcfs := run(t, conversations(2, 60, 5, 5*time.Millisecond), opt)
	opt.Policy = "lpm"
	lpm := run(t, conversations(2, 60, 5, 5*time.Millisecond), opt)
	if lpm.Cache.HitRatio <= fcfs.Cache.HitRatio {
		t.Errorf("lpm hits %v, fcfs %v", lpm.Cache.HitRatio, fcfs.Cache.HitRatio)
	}
}

func TestSpeedRaisesQueueing(t *testing.T) {
	opt := small(t)
	wait := func(speed float64) *Report {
		opt.Speed = speed
		return run(t, conversations(3, 60, 5, 60*time.Millisecond), opt)
	}
	one, two := wait(1), wait(2)
	if two.TTFT.Mean <= one.TTFT.Mean || two.Queue.MeanRunning+two.Queue.MeanWaiting <= one.Queue.MeanRunning+one.Queue.MeanWaiting {
		t.Errorf("at speed 2 TTFT is %v, at 1 %v; %+v and %+v", two.TTFT.Mean, one.TTFT.Mean, two.Queue, one.Queue)
	}
	if two.Throughput.Input <= one.Throughput.Input {
		t.Errorf("at speed 2 %v tokens/s come in, at 1 %v", two.Throughput.Input, one.Throughput.Input)
	}
}

func TestReplicasShareTheLoad(t *testing.T) {
	opt := small(t)
	from := func() *list { return conversations(4, 60, 5, 20*time.Millisecond) }
	one := run(t, from(), opt)
	opt.Replicas = 2
	two := run(t, from(), opt)
	if two.TTFT.Mean >= one.TTFT.Mean || two.Throughput.Seconds >= one.Throughput.Seconds {
		t.Errorf("two replicas: TTFT %v in %v s; one: %v in %v s", two.TTFT.Mean, two.Throughput.Seconds, one.TTFT.Mean, one.Throughput.Seconds)
	}
	for i, e := range two.Replicas {
		if part := float64(e.PromptTokens) / float64(two.Tokens.Prompt); part < 0.35 || part > 0.65 {
			t.Errorf("replica %d has %v of the tokens", i, part)
		}
	}
}

// Conversations that stay where their prefix is find most of it; with the other
// policies they find it only by chance.
func TestRoutingByPrefixHitsMore(t *testing.T) {
	opt := small(t)
	opt.Replicas = 4
	hits := map[string]float64{}
	waits := map[string]float64{}
	for _, routing := range route.Policies() {
		opt.Routing = routing
		r := run(t, conversations(5, 60, 6, 30*time.Millisecond), opt)
		hits[routing], waits[routing] = r.Cache.HitRatio, r.TTFT.Mean
	}
	for _, other := range []string{route.RoundRobin, route.Random, route.LeastLoaded} {
		if hits[route.CacheAware] < hits[other]+0.1 || waits[route.CacheAware] > waits[other] {
			t.Errorf("cache-aware hits %v with TTFT %v, %s %v with %v",
				hits[route.CacheAware], waits[route.CacheAware], other, hits[other], waits[other])
		}
	}
}

// A latency target holds for 99 of 100 tokens while long prompts arrive beside
// decoding requests, which it costs time to the first token.
func TestLatencyTargetHolds(t *testing.T) {
	from := func() *list {
		l := &list{}
		for i := range 16 { // these decode all the time
			l.requests = append(l.requests, trace.Request{Line: i + 1, Input: 50, Output: 2000})
		}
		for i := range 8 {
			l.requests = append(l.requests, trace.Request{Line: 17 + i, Arrival: time.Second, Input: 20000, Output: 1})
		}
		return l
	}
	opt := small(t)
	free := run(t, from(), opt)
	const target = 60 * time.Millisecond
	opt.LatencyTarget = target
	held := run(t, from(), opt)
	if held.ITL.P99 > 1.01*target.Seconds() {
		t.Errorf("99 %% of the tokens come within %v s, the target is %v", held.ITL.P99, target)
	}
	if free.ITL.P99 < 2*target.Seconds() || held.TTFT.Mean <= free.TTFT.Mean {
		t.Errorf("the test tests nothing: without a target ITL %+v, TTFT %v; with one %v", free.ITL, free.TTFT.Mean, held.TTFT.Mean)
	}
}
