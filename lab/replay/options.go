package replay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
)

// Options describe the engines of a replay. Defaults sets all but the device and the
// model. In brackets is the engine's setting with the same meaning.
type Options struct {
	GPU      costmodel.GPU
	Model    costmodel.Model
	Replicas int    // engines, each with its own device
	Routing  string // one of route.Policies
	// Gateways share the engines: each gets every n-th request and has a router of its own,
	// which hears of the others' requests from the engines. 1 without EventDelay: the router
	// is in one process with the engines.
	Gateways int
	// EventDelay is how late a gateway's router hears of what the engines' caches hold, and of
	// other gateways' requests. Requests and tokens take no time.
	EventDelay time.Duration
	// LoseReplica is when the busiest replica is lost, with its cache and its requests, which
	// continue on others; 0: never. After Restart it is back, with an empty cache.
	LoseReplica, Restart time.Duration
	Policy               string // (schedule-policy) one of queue.Policies
	Eviction             string // (radix-eviction-policy) one of policies.Names
	CacheDisabled        bool   // (disable-radix-cache) keeps nothing for later requests
	PageSize             int    // (page-size) tokens in a page, a power of two
	// KVTokens (max-total-tokens) caps each engine's pool; 0: what the memory allows.
	KVTokens int
	// MemFraction (mem-fraction-static) is the share of the device's memory for
	// weights, workspace and pool; 0: pool.AutoMemFraction.
	MemFraction      float64
	MaxRunning       int // (max-running-requests) 0: pool.AutoMaxRunning
	MaxPrefillTokens int // (max-prefill-tokens) maximum of tokens per step
	// (chunked-prefill-size) 0: SGLang's default for the device's memory; -1: no chunks.
	ChunkedPrefillSize int
	LatencyTarget      time.Duration // (inter-token-latency-target) 0: none
	Aging              time.Duration // (schedule-aging) 0: never
	// (disable-overlap-schedule) shows only the cost of wasted rows: plans take no time.
	DisableOverlap bool
	Speed          float64 // divides the trace's times: 2 sends everything twice as fast
	Seed           uint64  // for random policies and hashes
	Limit          int     // number of requests to replay; 0: all
	// WaitingTokens bounds the prompt tokens in all queues, 4 bytes each; requests beyond
	// it are held back in order. Their waiting counts from their time in the trace.
	WaitingTokens int
	// Samples bounds the points of the time series, at least 2. Soft: there are
	// between half of it and all of it, at equal distances.
	Samples  int
	Progress func(Progress) // if not nil, called now and then
}

func Defaults() Options {
	return Options{
		Replicas: 1, Gateways: 1, Restart: 10 * time.Second, Routing: route.CacheAware, Policy: "fcfs", Eviction: "lru", PageSize: 64, MaxPrefillTokens: former.DefaultMaxPrefillTokens,
		Aging: time.Minute, Speed: 1, WaitingTokens: 32 << 20, Samples: 512,
	}
}

type Progress struct {
	Requests    int     // ended
	Seconds     float64 // of virtual time
	Read, Bytes int64   // of the trace; Bytes is 0 where unknown
}

const (
	// maxReplicas bounds memory: a cache takes 4 to 10 bytes per token of its pool.
	maxReplicas = 1024
	// logitRows is the number of outputs of a step that the plan has logits for;
	// more are sampled in turns. SGLang's greatest captured batch on most devices.
	logitRows = 256
	// maxGateways bounds memory: each has an index of all cached pages.
	maxGateways = 64
)

// mostStepTokens bounds a step, far above the workspace of any device.
const mostStepTokens = 1 << 24

// defaultChunk is SGLang's chunked-prefill-size by device memory (server_args.py).
func defaultChunk(bytes int64) int {
	const gib = 1 << 30
	switch {
	case bytes < 35*gib:
		return 2048
	case bytes < 60*gib:
		return 4096
	case bytes < 160*gib:
		return 8192
	}
	return 16384
}

// Check reports the first option that is out of range, by its flag.
func (o *Options) Check() error {
	switch {
	case o.Replicas < 1 || o.Replicas > maxReplicas:
		return fmt.Errorf("--replicas is %d; it must be between 1 and %d", o.Replicas, maxReplicas)
	case o.Gateways < 1 || o.Gateways > maxGateways:
		return fmt.Errorf("--gateways is %d; it must be between 1 and %d", o.Gateways, maxGateways)
	case o.EventDelay < 0:
		return fmt.Errorf("--event-delay is %v; it must be at least 0", o.EventDelay)
	case o.LoseReplica < 0:
		return fmt.Errorf("--lose-replica is %v; it must be above 0, or 0 for never", o.LoseReplica)
	case o.LoseReplica > 0 && o.Replicas < 2:
		return fmt.Errorf("--lose-replica %v requires --replicas of at least 2", o.LoseReplica)
	case o.Restart < 0:
		return fmt.Errorf("--replica-restart is %v; it must be at least 0", o.Restart)
	case paging.CheckSize(o.PageSize) != nil:
		return fmt.Errorf("--page-size %w", paging.CheckSize(o.PageSize))
	case !(o.Speed > 0) || math.IsInf(o.Speed, 0):
		return fmt.Errorf("--speed is %v; it must be above 0: 2 sends the trace twice as fast", o.Speed)
	case o.KVTokens < 0:
		return fmt.Errorf("--kv-tokens is %d; it must be at least 1, or 0 for what the device's memory allows", o.KVTokens)
	case o.Limit < 0:
		return fmt.Errorf("--limit is %d; it must be at least 1, or 0 for the whole trace", o.Limit)
	case o.MaxRunning < 0:
		return fmt.Errorf("--max-running-requests is %d; it must be at least 1, or 0 for the default", o.MaxRunning)
	case o.MaxPrefillTokens < 1 || o.MaxPrefillTokens > mostStepTokens:
		return fmt.Errorf("--max-prefill-tokens is %d; it must be between 1 and %d", o.MaxPrefillTokens, mostStepTokens)
	case o.ChunkedPrefillSize < -1:
		return fmt.Errorf("--chunked-prefill-size is %d; it must be at least 1, 0 for the default, or -1 for no chunks", o.ChunkedPrefillSize)
	case o.ChunkedPrefillSize > o.MaxPrefillTokens:
		return fmt.Errorf("--chunked-prefill-size %d is more than --max-prefill-tokens %d allows in a step; lower the first or raise the second",
			o.ChunkedPrefillSize, o.MaxPrefillTokens)
	case o.Aging < 0:
		return fmt.Errorf("--schedule-aging is %v; it must be above 0, or 0 for never", o.Aging)
	case o.LatencyTarget < 0:
		return fmt.Errorf("--inter-token-latency-target is %v; it must be above 0, or 0 for none", o.LatencyTarget)
	case o.LatencyTarget > 0 && o.ChunkedPrefillSize < 0:
		return fmt.Errorf("--inter-token-latency-target %v requires chunked prefill, which --chunked-prefill-size -1 disables", o.LatencyTarget)
	case o.WaitingTokens < 1:
		return fmt.Errorf("replay: WaitingTokens is %d; it must be at least 1", o.WaitingTokens)
	case o.Samples < 2:
		return fmt.Errorf("replay: Samples is %d; it must be at least 2", o.Samples)
	}
	routing := route.Options{Policy: o.Routing, Replicas: o.Replicas, PageSize: o.PageSize}
	if err := routing.Validate(); err != nil {
		return fmt.Errorf("--routing: %w", err)
	}
	queue := o.queue()
	if err := queue.Validate(); err != nil {
		return fmt.Errorf("--policy: %w", err)
	}
	if _, err := policies.ByName(o.Eviction); err != nil {
		return fmt.Errorf("--eviction: %w", err)
	}
	return nil
}

// pool sizes an engine's KV pool, like a real engine on the device.
func (o *Options) pool() (pool.Plan, error) {
	// Without chunks the biggest step is bigger, but the automatic share counts chunks.
	chunk, step := o.ChunkedPrefillSize, o.ChunkedPrefillSize
	if chunk < 0 {
		chunk, step = defaultChunk(o.GPU.Memory), o.MaxPrefillTokens
	}
	outputs := cmp.Or(min(o.MaxRunning, logitRows), logitRows)
	plan, err := pool.NewPlan(pool.Options{
		OwnMemory: true, MemFraction: o.MemFraction, StepTokens: chunk,
		MaxTotalTokens: o.KVTokens, MaxRunning: o.MaxRunning, PageSize: o.PageSize,
	}, pool.Facts{
		AvailableBytes: o.GPU.Memory, AvailableFrom: o.GPU.Title,
		WeightBytes: o.Model.Bytes(), WorkspaceBytes: o.Model.Workspace(step, outputs),
		BytesPerToken: o.Model.KVTokenBytes(), PerTokenFrom: "the model's K and V on all layers", Context: o.Model.Context,
	})
	if short, is := errors.AsType[*pool.Shortage](err); is {
		advice := "Use a smaller model or a larger GPU"
		if short.MemFraction <= 1 {
			advice = fmt.Sprintf("Set mem-fraction-static %g", short.MemFraction)
		}
		err = fmt.Errorf("%w. %s", err, advice)
	}
	if err != nil {
		return plan, fmt.Errorf("%s on %s: %w", o.Model.Name, o.GPU.Name, err)
	}
	return plan, nil
}

func (o *Options) queue() queue.Options {
	return queue.Options{
		SchedulePolicy: o.Policy, Aging: o.Aging, CacheDisabled: o.CacheDisabled, PageSize: o.PageSize, Seed: o.Seed,
	}
}

func (o *Options) former(pool pool.Plan) former.Options {
	queue, steps := o.queue(), 2
	if o.DisableOverlap {
		steps = 1
	}
	return former.Options{
		PageSize: o.PageSize, Pages: pool.Pages, MaxRunning: pool.MaxRunning,
		MaxPrefillTokens: o.MaxPrefillTokens, ChunkedPrefillSize: o.ChunkedPrefillSize,
		InterTokenLatencyTarget: o.LatencyTarget, StepsInFlight: steps,
		ContextLength: o.Model.Context, CacheDisabled: o.CacheDisabled, ReportToQueue: queue.WantsResults(),
	}
}

func (o *Options) cache(pool pool.Plan) radix.Options {
	policy, _ := policies.ByName(o.Eviction) // check knows it
	return radix.Options{
		PageSize: o.PageSize, Disabled: o.CacheDisabled, Policy: policy, Events: o.routesByPrefix(), HashSeed: o.Seed,
		History: policies.History(o.Eviction, pool.Pages),
	}
}

// routesByPrefix reports whether the router follows what the caches hold.
func (o *Options) routesByPrefix() bool {
	return o.Replicas > 1 && o.Routing == route.CacheAware && !o.CacheDisabled
}

// clustered reports whether gateways and engines are processes of their own.
func (o *Options) clustered() bool { return o.Gateways > 1 || o.EventDelay > 0 || o.LoseReplica > 0 }
