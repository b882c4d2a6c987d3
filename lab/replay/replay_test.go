package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
)

// One request alone: its first token comes after the steps of its chunks, every
// other after a step of one row.
func TestOneRequestTakesItsSteps(t *testing.T) {
	opt := small(t)
	opt.ChunkedPrefillSize = 1024
	r := run(t, &list{requests: []trace.Request{{Line: 1, Arrival: 5 * time.Second, Input: 2500, Output: 3}}}, opt)
	costs := costmodel.NewCosts(opt.GPU, opt.Model)
	ttft := costs.StepTime([]costmodel.Row{{Count: 1024}}) + costs.StepTime([]costmodel.Row{{Count: 1024, Context: 1024}}) +
		costs.StepTime([]costmodel.Row{{Count: 452, Context: 2048, Output: true}})
	second := costs.StepTime([]costmodel.Row{{Count: 1, Context: 2500, Output: true}})
	third := costs.StepTime([]costmodel.Row{{Count: 1, Context: 2501, Output: true}})
	if r.TTFT.Max != seconds(ttft) || r.ITL.Count != 2 || r.ITL.Max != seconds(third) {
		t.Errorf("TTFT %+v, want %v; ITL %+v, want at most %v", r.TTFT, ttft, r.ITL, third)
	}
	if r.E2E.Max != seconds(ttft+second+third) || r.Throughput.Seconds != seconds(5*time.Second+ttft+second+third) || r.Steps.Count != 5 {
		t.Errorf("E2E %+v in %v and %d steps", r.E2E, r.Throughput.Seconds, r.Steps.Count)
	}
	if r.Tokens != (Tokens{Prompt: 2500, Output: 3}) || r.Cache.HitRatio != 0 {
		t.Errorf("%+v, hit ratio %v", r.Tokens, r.Cache.HitRatio)
	}
}

// The same prompt again: all whole pages but those of the last token.
func TestSecondTimeIsCached(t *testing.T) {
	opt := small(t)
	opt.PageSize = 16
	blocks := []uint64{7, 8, 9}
	r := run(t, &list{requests: []trace.Request{
		{Line: 1, Input: 300, Output: 1, Blocks: blocks, BlockSize: 128},
		{Line: 2, Arrival: time.Minute, Input: 300, Output: 0, Blocks: blocks, BlockSize: 128},
	}}, opt)
	if r.Tokens.Cached != 288 || r.Tokens.Output != 2 {
		t.Errorf("%+v, want 288 of 300 cached and an output of at least 1 each", r.Tokens)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		opt := small(t)
		opt.Replicas, opt.KVTokens, opt.Policy, opt.Seed = replicas, 16384, "random", 7
		var all [2]bytes.Buffer
		for i := range all {
			r := run(t, conversations(1, 20, 5, 20*time.Millisecond), opt)
			if err := json.NewEncoder(&all[i]).Encode(r); err != nil {
				t.Fatal(err)
			}
			if err := json.NewEncoder(&all[i]).Encode(r.Usage()); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteText(&all[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(all[0].Bytes(), all[1].Bytes()) {
			t.Errorf("%d replicas: two replays differ", replicas)
		}
	}
}

// check verifies what must hold of every report.
func check(t *testing.T, from *list, r *Report) {
	t.Helper()
	prompt, output := 0, 0
	for _, q := range from.requests {
		prompt += q.Input
		output += max(q.Output, 1)
	}
	if r.Requests.Finished != len(from.requests) || r.Tokens.Prompt != prompt || r.Tokens.Output != output {
		t.Errorf("%+v with %+v, want %d requests of %d and %d tokens", r.Requests, r.Tokens, len(from.requests), prompt, output)
	}
	if r.TTFT.Count != len(from.requests) || r.ITL.Count != output-len(from.requests) || r.E2E.Count != len(from.requests) {
		t.Errorf("%d first tokens, %d gaps, %d ends", r.TTFT.Count, r.ITL.Count, r.E2E.Count)
	}
	sum, first, tokens := ByReplica{}, 0, 0
	for _, e := range r.Replicas {
		sum.Requests += e.Requests
		sum.PromptTokens += e.PromptTokens
		sum.OutputTokens += e.OutputTokens
	}
	if sum.Requests != len(from.requests) || sum.PromptTokens != prompt || sum.OutputTokens != output {
		t.Errorf("the replicas sum up to %+v", sum)
	}
	pages := r.Setup.KVTokens / r.Setup.PageSize * r.Setup.Replicas
	for _, s := range r.Series {
		if int(s.Free+s.Evictable+s.Locked+s.Leased) != pages {
			t.Fatalf("%+v are not the %d pages", s, pages)
		}
		first += s.First
		tokens += s.Tokens
	}
	if first != r.TTFT.Count || tokens != r.ITL.Count {
		t.Errorf("the series holds %d first tokens and %d others", first, tokens)
	}
}

func TestEverythingAddsUp(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"plain":          func(*Options) {},
		"page size 1":    func(o *Options) { o.PageSize = 1 },
		"tight pool":     func(o *Options) { o.KVTokens = 8192 },
		"no cache":       func(o *Options) { o.CacheDisabled = true },
		"no chunks":      func(o *Options) { o.ChunkedPrefillSize = -1 },
		"small chunks":   func(o *Options) { o.ChunkedPrefillSize = 64 },
		"few rows":       func(o *Options) { o.MaxRunning = 2 },
		"3 replicas":     func(o *Options) { o.Replicas, o.KVTokens = 3, 8192 },
		"3 random":       func(o *Options) { o.Replicas, o.Routing = 3, route.Random },
		"3 uncached":     func(o *Options) { o.Replicas, o.CacheDisabled = 3, true },
		"little waiting": func(o *Options) { o.WaitingTokens = 1 },
		"no overlap":     func(o *Options) { o.DisableOverlap = true },
		"tight, alone":   func(o *Options) { o.DisableOverlap, o.KVTokens = true, 8192 },
		"latency target": func(o *Options) { o.LatencyTarget = 20 * time.Millisecond },
		"no aging":       func(o *Options) { o.Aging, o.Policy = 0, "lpm" },
		"two samples":    func(o *Options) { o.Samples = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			opt, from := small(t), conversations(2, 12, 4, 10*time.Millisecond)
			change(&opt)
			check(t, from, run(t, from, opt))
		})
	}
	for _, policy := range queue.Policies() {
		t.Run(policy, func(t *testing.T) {
			opt, from := small(t), conversations(3, 12, 4, time.Millisecond)
			opt.Policy, opt.KVTokens = policy, 8192
			check(t, from, run(t, from, opt))
		})
	}
	for _, eviction := range policies.Names() {
		t.Run(eviction, func(t *testing.T) {
			opt, from := small(t), conversations(4, 12, 4, time.Millisecond)
			opt.Eviction, opt.KVTokens = eviction, 8192
			if r := run(t, from, opt); r.Cache.EvictedTokens == 0 {
				t.Error("nothing is evicted")
			} else {
				check(t, from, r)
			}
		})
	}
}

// Outputs that outgrow what admission expected of them are retracted and come
// back.
func TestPressureRetracts(t *testing.T) {
	from := &list{}
	for i := range 40 {
		from.requests = append(from.requests, trace.Request{Line: i + 1, Input: 100, Output: 1500})
	}
	opt := small(t)
	opt.KVTokens = 16384
	r := run(t, from, opt)
	check(t, from, r)
	if r.Steps.Retractions == 0 {
		t.Error("no request is retracted")
	}
}

// The waiting of requests that are held back counts from their time in the trace.
func TestHoldingBackHidesNoWaiting(t *testing.T) {
	opt := small(t)
	free := run(t, conversations(5, 20, 4, time.Millisecond), opt)
	opt.WaitingTokens = 40000
	held := run(t, conversations(5, 20, 4, time.Millisecond), opt)
	if held.Requests.HeldBack == 0 || free.Requests.HeldBack != 0 {
		t.Errorf("%d and %d are held back", held.Requests.HeldBack, free.Requests.HeldBack)
	}
	if math.Abs(held.TTFT.Mean-free.TTFT.Mean) > 0.1*free.TTFT.Mean || held.Queue.MaxWaiting < free.Queue.MaxWaiting/2 {
		t.Errorf("TTFT %v and %v, %d and %d wait", held.TTFT.Mean, free.TTFT.Mean, held.Queue.MaxWaiting, free.Queue.MaxWaiting)
	}
}

// The backlog is also bounded by blocks: many long prompts in small blocks are not
// read ahead.
func TestBacklogIsBounded(t *testing.T) {
	const input = 100_000
	blocks := make([]uint64, input)
	from := &list{}
	for i := range 200 {
		from.requests = append(from.requests, trace.Request{Line: i + 1, Input: input, Output: 1, Blocks: blocks, BlockSize: 1})
	}
	opt := small(t)
	opt.WaitingTokens = 1
	w, err := newWorld(from, opt)
	if err != nil {
		t.Fatal(err)
	}
	peak := 0
	for range 300 {
		if _, err := w.turn(); err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, a := range w.backlog {
			held += len(a.of.Blocks)
		}
		peak = max(peak, held)
	}
	if peak < maxBacklogBlocks || peak > maxBacklogBlocks+input {
		t.Errorf("%d blocks are held back, want %d and at most a request more", peak, maxBacklogBlocks)
	}
}

func TestLimitAndCancel(t *testing.T) {
	opt := small(t)
	opt.Limit = 5
	if r := run(t, conversations(6, 10, 3, time.Millisecond), opt); r.Requests.Finished != 5 {
		t.Errorf("%d requests", r.Requests.Finished)
	}
	ctx, cancel := context.WithCancel(t.Context())
	opt.Limit, opt.Progress = 0, func(Progress) { cancel() }
	if _, err := Run(ctx, conversations(6, 60, 8, time.Millisecond), opt); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled replay: %v", err)
	}
}

func TestNothingToReplay(t *testing.T) {
	r := run(t, &list{}, small(t))
	if r.Requests.Finished != 0 || r.Throughput.Output != 0 || math.IsNaN(r.Cache.HitRatio) {
		t.Errorf("%+v", r)
	}
	if err := r.WriteText(&bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}

func TestTooLongRequests(t *testing.T) {
	opt := small(t)
	from := func() *list {
		return &list{requests: []trace.Request{{Line: 3, Input: 10, Output: 1}, {Line: 8, Input: 131000, Output: 500}, {Line: 9, Input: 10, Output: 1}}}
	}
	r := run(t, from(), opt)
	if r.Requests != (Requests{Finished: 2, Refused: 1}) || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "line 8 with 131500 tokens") {
		t.Errorf("%+v, %q", r.Requests, r.Warnings)
	}
	opt.KVTokens = 1024
	_, err := Run(t.Context(), &list{requests: []trace.Request{{Line: 1, Input: 10, Output: 1}, {Line: 42, Input: 1000, Output: 26}}}, opt)
	if err == nil || !strings.Contains(err.Error(), "line 42") || !strings.Contains(err.Error(), "raise --kv-tokens") {
		t.Errorf("a request that the pool cannot hold: %v", err)
	}
	slow := small(t)
	slow.Speed = 1e-12
	_, err = Run(t.Context(), &list{requests: []trace.Request{{Line: 7, Arrival: time.Hour, Input: 10, Output: 1}}}, slow)
	if err == nil || !strings.Contains(err.Error(), "line 7") || !strings.Contains(err.Error(), "--speed 1e-12") {
		t.Errorf("a request after the end of time: %v", err)
	}
	// One token fewer fits: the last one has no KV.
	run(t, &list{requests: []trace.Request{{Line: 42, Input: 1000, Output: 25}}}, opt)
}

// The cores' warnings are in the report.
func TestUnreachableTargetIsNoted(t *testing.T) {
	var requests []trace.Request
	for i := range 8 {
		requests = append(requests, trace.Request{Line: i + 1, Arrival: time.Duration(i) * 100 * time.Millisecond, Input: 2000, Output: 200})
	}
	for target, want := range map[time.Duration]int{time.Microsecond: 1, 10 * time.Second: 0, 0: 0} {
		opt := small(t)
		opt.LatencyTarget = target
		r := run(t, &list{requests: requests}, opt)
		if len(r.Warnings) != want || want > 0 && !strings.Contains(r.Warnings[0], "cannot be met") {
			t.Errorf("target %v: %q", target, r.Warnings)
		}
	}
}

// A step's bound shrinks chunks of the default size, like in an engine.
func TestStepBoundShrinksDefaultChunks(t *testing.T) {
	opt := small(t)
	opt.MaxPrefillTokens = 1000
	r := run(t, &list{requests: []trace.Request{{Line: 1, Input: 3000, Output: 1}}}, opt)
	if r.Setup.ChunkedPrefillSize != 1000 || r.Requests.Finished != 1 {
		t.Errorf("chunks of %d, %+v", r.Setup.ChunkedPrefillSize, r.Requests)
	}
}

func TestRefusedOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"--page-size is 48":                        func(o *Options) { o.PageSize = 48 },
		"--replicas is -1":                         func(o *Options) { o.Replicas = -1 },
		"--replicas is 1025":                       func(o *Options) { o.Replicas = 1025 },
		"--speed is -2":                            func(o *Options) { o.Speed = -2 },
		"--speed is NaN":                           func(o *Options) { o.Speed = math.NaN() },
		"--gateways is 0":                          func(o *Options) { o.Gateways = 0 },
		"--gateways is 65":                         func(o *Options) { o.Gateways = 65 },
		"--event-delay is -1ms":                    func(o *Options) { o.EventDelay = -time.Millisecond },
		"--lose-replica is -1s":                    func(o *Options) { o.LoseReplica = -time.Second },
		"--lose-replica 1s requires --replicas":    func(o *Options) { o.LoseReplica = time.Second },
		"--replica-restart is -1s":                 func(o *Options) { o.Restart = -time.Second },
		"--kv-tokens is -5":                        func(o *Options) { o.KVTokens = -5 },
		"--limit is -1":                            func(o *Options) { o.Limit = -1 },
		"--max-running-requests is -1":             func(o *Options) { o.MaxRunning = -1 },
		"--max-prefill-tokens is -1":               func(o *Options) { o.MaxPrefillTokens = -1 },
		"--chunked-prefill-size is -2":             func(o *Options) { o.ChunkedPrefillSize = -2 },
		"--chunked-prefill-size 8192 is m":         func(o *Options) { o.ChunkedPrefillSize, o.MaxPrefillTokens = 8192, 4096 },
		"--inter-token-latency-target is -1":       func(o *Options) { o.LatencyTarget = -1 },
		"which --chunked-prefill-size -1 disables": func(o *Options) { o.LatencyTarget, o.ChunkedPrefillSize = 1, -1 },
		"use one of cache-aware":                   func(o *Options) { o.Routing = "sticky" },
		"use one of fcfs, lpm":                     func(o *Options) { o.Policy = "fastest" },
		"fifo, filo, gittins":                      func(o *Options) { o.Eviction = "belady" },
		"less than one page":                       func(o *Options) { o.KVTokens = 10 },
		". Set mem-fraction-static 0.12":           func(o *Options) { o.MemFraction = 0.01 },
	} {
		opt := small(t)
		change(&opt)
		if _, err := Run(t.Context(), &list{}, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
