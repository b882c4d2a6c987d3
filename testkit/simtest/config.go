package simtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/messages"
	intake "github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

// Config is one simulated run. Equal configs make equal runs.
type Config struct {
	Seed     uint64
	Requests int // that arrive, at least; example 12

	PageSize      int
	Pages         int // usable; at least 1
	MaxRunning    int
	Chunk         int // tokens; 0: unlimited
	MaxPrefill    int // tokens of prompts in a step; 0: 100
	ContextLength int
	CacheDisabled bool
	Policy        queue.Options
	RetractEvery  int           // steps; 0: only when memory runs out
	StepsInFlight int           // 1 or 2; 0: 1
	TokensPerStep int           // of a row, at most; 0: 1
	Ratio         float64       // of new tokens at first; low ones make memory run out
	Preemption    bool          // by priority
	Target        time.Duration // between tokens; 0: none. A message takes 1 µs

	Eviction     string  // policy of the cache; "": lru
	Contiguous   bool    // consecutive pages if possible
	Conservative float64 // multiplies Ratio; 0: 1

	Engines int // behind one intake; 0: 1
	// Cluster puts the engines behind gateways: links and portals are between them and
	// each dispatch.
	Cluster  bool
	Gateways int // of the cluster; 0: 1
	// Cuts is the probability of a cut of a link, per message. Deaths is that of the end of
	// a process; two of three start again.
	Cuts, Deaths float64

	// Crashes and DeviceErrors are probabilities, per message and per step.
	Crashes      float64
	DeviceErrors float64
	// CrashRole panics at the CrashAt-th message that it gets, counted from 1;
	// 0: nowhere. With CrashOn only messages of that type count. Example EpochStarted.
	CrashRole messages.Actor
	CrashAt   int
	CrashOn   string
	// Cancels is the share of calls that are dropped or aborted at some time.
	Cancels float64
	// SuspectLimit is intake's; 0 keeps quarantine out of the run.
	SuspectLimit int
	// Poison has the first call's prompt kill the process of the engine that computes it. The
	// step takes longer than messages to the gateways, unless the process dies AtOnce.
	Poison, AtOnce bool
}

// String names the run in failures.
func (c Config) String() string {
	return fmt.Sprintf("TROUPE_SEED=%d page=%d pages=%d rows=%d chunk=%d prefill=%d context=%d nocache=%t retract=%d flight=%d tokens=%d target=%v preempt=%t ratio=%g crashes=%g errors=%g cancels=%g suspects=%d crash=%s@%d on=%s requests=%d policy=%s aging=%v eviction=%s contiguous=%t conservative=%g engines=%d cluster=%t gateways=%d cuts=%g deaths=%g poison=%t once=%t",
		c.Seed, c.PageSize, c.Pages, c.MaxRunning, c.Chunk, c.MaxPrefill, c.ContextLength, c.CacheDisabled, c.RetractEvery, c.StepsInFlight, c.TokensPerStep, c.Target, c.Preemption, c.Ratio, c.Crashes, c.DeviceErrors, c.Cancels, c.SuspectLimit, c.CrashRole, c.CrashAt, c.CrashOn, c.Requests, c.Policy.SchedulePolicy, c.Policy.Aging, c.Eviction, c.Contiguous, c.Conservative, c.Engines, c.Cluster, c.Gateways, c.Cuts, c.Deaths, c.Poison, c.AtOnce)
}

// capacity is what bounds prompt and output of one request together, in tokens.
func (c *Config) capacity() int { return min(c.ContextLength, c.PageSize*c.Pages) }

// Random draws a config: the matrix of what must not change the output, with
// pools that are just large enough, and larger ones.
func Random(seed uint64) Config {
	r := rand.New(rand.NewPCG(seed, 1))
	c := Config{
		Seed: seed, Requests: 1 + r.IntN(16),
		PageSize:      pick(r, 1, 4, 16),
		MaxRunning:    pick(r, 1, 4, 64),
		Chunk:         pick(r, 7, 64, 0),
		ContextLength: 24 + r.IntN(60),
		CacheDisabled: r.IntN(4) == 0,
		RetractEvery:  pick(r, 0, 0, 3),
		Target:        pick(r, 0, 10*time.Microsecond, 50*time.Microsecond),
		Ratio:         pick(r, 0, 0.05, 0.2),
		Crashes:       pick(r, 0, 0, 0.002, 0.01),
		DeviceErrors:  pick(r, 0, 0, 0.02),
		Cancels:       pick(r, 0, 0.2, 0.6),
		SuspectLimit:  pick(r, 0, 2),
		StepsInFlight: pick(r, 1, 2, 2),
		MaxPrefill:    pick(r, 0, 0, 5, 12),
	}
	c.Policy = queue.Options{
		SchedulePolicy: pick(r, queue.Policies()...), Aging: pick(r, 0, 20*time.Microsecond, time.Millisecond),
		CacheDisabled: c.CacheDisabled, PageSize: c.PageSize, Seed: seed, LowPriorityFirst: r.IntN(2) == 0, FairTenants: pick(r, 0, 1),
	}
	c.Preemption = c.Policy.SchedulePolicy == "priority" && r.IntN(4) > 0
	if c.Chunk == 0 {
		c.Target = 0 // needs chunks
	}
	// From a second source, so that older seeds decide what they did before.
	more := rand.New(rand.NewPCG(seed, 3))
	if more.IntN(6) == 0 {
		c.PageSize = pick(more, 32, 64)
		c.Policy.PageSize = c.PageSize
	}
	c.Eviction, c.Contiguous, c.Conservative = pick(more, policies.Names()...), more.IntN(2) == 0, pick(more, 0, 0.3, 2)
	c.Pages = paging.Pages(c.ContextLength, c.PageSize)*pick(r, 1, 1, 2, 8) + r.IntN(3)
	if more.IntN(8) == 0 {
		c.Pages *= 100 // enough for plans to reserve ahead
	}
	c.TokensPerStep = pick(more, 1, 1, 3, 8)
	c.Engines = pick(more, 1, 1, 2, 3)
	if c.Cluster = more.IntN(4) == 0; c.Cluster {
		c.Cuts = pick(more, 0, 0.0005, 0.003)
		c.Gateways = pick(more, 1, 1, 2, 3)
		c.Deaths = pick(more, 0, 0, 0.0003, 0.001)
	}
	return c
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

const vocab = 48

func (c *Config) model() fakemodel.Options {
	return fakemodel.Options{
		PageSize: c.PageSize, Pages: c.Pages, MaxRows: c.MaxRunning, Vocab: vocab, Context: c.ContextLength,
		EOSChance: 0.03, CheckReads: true, Manual: true, TokensPerStep: c.TokensPerStep,
		LateChance: 0.3,
	}
}

func (c *Config) former() former.Options {
	return former.Options{
		PageSize: c.PageSize, Pages: c.Pages, MaxRunning: c.MaxRunning, ChunkedPrefillSize: c.Chunk,
		MaxPrefillTokens: cmp.Or(c.MaxPrefill, 100), Conservativeness: c.Conservative, ContextLength: c.ContextLength, CacheDisabled: c.CacheDisabled,
		InterTokenLatencyTarget: c.Target, PriorityPreemption: c.Preemption, LowPriorityFirst: c.Policy.LowPriorityFirst, Aging: c.Policy.Aging,
		PreemptionThreshold: int(c.Seed % 3), InitNewTokenRatio: c.Ratio, RetractEvery: c.RetractEvery, StepsInFlight: c.StepsInFlight, TokensPerStep: c.TokensPerStep, GrammarTokensPerStep: int(c.Seed % 5), AuditEveryStep: c.Seed%2 == 0,
		ReportToQueue: c.Policy.WantsResults(), ReportAdmissions: c.Cluster,
	}
}

func (c *Config) dispatch() dispatch.Options {
	opt := dispatch.Options{Route: route.Options{Replicas: c.Engines, PageSize: c.PageSize, Policy: route.Policies()[c.Seed%4], Seed: c.Seed}}
	if c.Cluster {
		opt.Route.Replicas = 0 // they join
	}
	if opt.Route.Policy == route.CacheAware {
		opt.Pages = func(r *messages.EngineRequest) []uint64 { return radix.PageHashes(r.Namespace, r.Prompt, c.PageSize) }
	}
	return opt
}

func (c *Config) table() intake.TableOptions {
	opt := intake.TableOptions{
		ContextLength: c.ContextLength, PoolTokens: c.Pages * c.PageSize, Vocab: vocab,
		MaxOpenRequests: 1000, MaxLogprobs: 5, SuspectLimit: c.SuspectLimit,
		Priorities: c.Policy.SchedulePolicy == "priority",
	}
	if opt.SuspectLimit == 0 {
		opt.SuspectLimit = 1 << 30
	}
	return opt
}

// calls draws the calls of a run: prompts that share prefixes, are equal or
// fill the whole capacity; several choices of one prompt.
func (c *Config) calls(r *rand.Rand) []*call {
	stems := make([][]int32, 2)
	for i := range stems {
		stems[i] = draw(r, c.capacity())
	}
	var calls []*call
	var prompts [][]int32
	for n := 0; n < c.Requests; {
		k := newCall(r)
		if r.Float64() < c.Cancels {
			k.leaveAt = r.IntN(600)
		}
		namespace := pick(r, "", "", "", "tenant")
		for choices := pick(r, 1, 1, 1, 3); choices > 0; choices-- {
			var prompt []int32
			switch i := len(k.requests); {
			case i > 0:
				prompt = k.requests[0].sub.Prompt
			case len(prompts) > 0 && r.IntN(4) == 0:
				prompt = pick(r, prompts...)
			default:
				prompt = c.prompt(r, stems)
				prompts = append(prompts, prompt)
			}
			q := c.request(r, prompt)
			q.sub.Namespace, q.sub.After = namespace, -1
			q.sub.Tenant = pick(r, "", "a", "b", "c")
			if c.Policy.SchedulePolicy == "priority" {
				q.sub.Priority = int32(r.IntN(4))
			}
			if len(k.requests) > 0 && r.IntN(2) == 0 {
				q.sub.After = 0
			}
			k.requests = append(k.requests, q)
		}
		n += len(k.requests)
		calls = append(calls, k)
	}
	return calls
}

func (c *Config) prompt(r *rand.Rand, stems [][]int32) []int32 {
	n := 1 + r.IntN(c.capacity()-1)
	if r.IntN(2) == 0 {
		n = 1 + n/4
	}
	stem := pick(r, stems...)[:r.IntN(n)]
	return append(append([]int32(nil), stem...), draw(r, n-len(stem))...)
}

func (c *Config) request(r *rand.Rand, prompt []int32) *request {
	room := c.capacity() - len(prompt)
	p := &messages.SamplingParams{
		Temperature: pick[float32](r, 0, 1), TopP: 1, RepetitionPenalty: pick[float32](r, 1, 1.1),
		Seed: r.Uint64(), MaxTokens: 1 + r.IntN(room), EOSTokenIDs: []int32{0, 1},
		IgnoreEOS: r.IntN(4) == 0, TopLogprobs: pick(r, messages.NoLogprobs, 0, 2),
		PromptLogprobs: pick(r, messages.NoLogprobs, messages.NoLogprobs, 0, 1),
	}
	if r.IntN(3) == 0 {
		p.MaxTokens = room + r.IntN(3) // intake cuts it
	}
	if r.IntN(4) == 0 {
		p.MinTokens = r.IntN(min(10, p.MaxTokens))
	}
	if r.IntN(4) == 0 {
		p.StopTokenIDs = []int32{int32(2 + r.IntN(vocab-2))}
	}
	if p.Seed%3 == 0 { // without a draw, so that older seeds decide what they did before
		p.Grammar = &messages.Grammar{Kind: "any"}
	}
	if p.PromptLogprobs >= 0 {
		p.PromptLogprobStart = r.IntN(len(prompt))
	}
	q := &request{
		sub:   messages.Submission{Prompt: prompt, Params: p, Stream: r.IntN(3) > 0},
		alone: r.IntN(12) == 0,
	}
	q.expect(c)
	if r.IntN(4) == 0 {
		q.sub.Stop = []string{piece(pick(r, q.want...))}
		q.expect(c)
	}
	return q
}

func draw(r *rand.Rand, n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(r.IntN(vocab))
	}
	return tokens
}
