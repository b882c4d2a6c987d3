package node

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/actors/observer"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/telemetry"
)

// maxTopLogprobs is the API's bound.
const maxTopLogprobs = 20

// maxStopBytes bounds the stop strings of one request together. Intake builds an
// automaton of them while everybody's tokens wait: 24 bytes and about a
// microsecond per byte.
const maxStopBytes = 16 << 10

// stepsInFlight is how many steps are launched at once.
func stepsInFlight(c *configs.Config) int {
	if c.DisableOverlap {
		return 1
	}
	return 2
}

// tableOptions are the bounds of intake.
func (n *Node) tableOptions() request.TableOptions {
	c, p := n.opt.Config, n.Checkpoint.Program
	return request.TableOptions{
		ContextLength: p.Context, PoolTokens: n.Plan.Tokens, Vocab: p.Vocab,
		MaxOpenRequests: c.MaxOpen, MaxQueuedTokens: c.MaxQueuedToken, MaxLogprobs: maxTopLogprobs, MaxStopBytes: maxStopBytes,
		MaxQueuedRequests: c.MaxQueued, QueueTimeout: c.QueueTimeout, RequestTimeout: c.RequestTimeout,
		Priorities: c.SchedulePolicy == "priority" || c.EvictionPolicy == "priority", LowFirst: c.LowPriorityFirst,
		Oust: c.SchedulePolicy == "priority", Fair: c.SchedulePolicy == "fair", MaxRunning: n.Plan.MaxRunning,
	}
}

// startEngine returns once the first epoch stands.
func (n *Node) startEngine(ctx context.Context) error {
	c, p := n.opt.Config, n.Checkpoint.Program
	table := n.tableOptions()
	former := former.Options{
		PageSize: c.PageSize, Pages: n.Plan.Pages, MaxRunning: n.Plan.MaxRunning, ContextLength: min(p.Context, n.Plan.Tokens),
		MaxPrefillTokens: c.MaxPrefillTokens, ChunkedPrefillSize: c.Chunk(), CacheDisabled: c.DisableRadixCache,
		StepsInFlight: stepsInFlight(c), InterTokenLatencyTarget: c.LatencyTarget,
		PriorityPreemption: c.Preemption, PreemptionThreshold: c.PreemptionDiff, LowPriorityFirst: c.LowPriorityFirst, Aging: c.ScheduleAging,
		Conservativeness: c.Conservativeness, RetractEvery: c.RetractEvery, AuditEveryStep: c.AuditEveryStep,
	}
	queue := queue.Options{
		SchedulePolicy: c.SchedulePolicy, Aging: c.ScheduleAging, LowPriorityFirst: c.LowPriorityFirst,
		CacheDisabled: c.DisableRadixCache, PageSize: c.PageSize, Seed: uint64(c.ScheduleSeed),
		FairInputWeight: c.FairInputWeight, FairOutputWeight: c.FairOutputWeight,
	}
	for _, w := range c.Warnings() {
		n.opt.Log.Warn().Msg(w)
	}
	for _, o := range []interface{ Validate() error }{table, &former, &queue} {
		if err := o.Validate(); err != nil {
			return err
		}
	}
	policy, err := policies.ByName(c.EvictionPolicy)
	if err != nil {
		return configs.About(err, "radix-eviction-policy")
	}
	n.Meter = telemetry.New(n.Name, n.opt.Log)
	n.Meter.ProbeMemory(n.pool)
	spec := engine.Spec{
		Queue: queue,
		Batch: former,
		Cache: radix.Options{
			PageSize: c.PageSize, Disabled: c.DisableRadixCache, Policy: policy, Events: c.KVEvents, HashSeed: newSeed(),
			History: policies.History(c.EvictionPolicy, n.Plan.Pages),
		},
		Alloc:    pages.Options{Pages: n.Plan.Pages, Contiguous: c.ContiguousKV},
		Intake:   intake.Options{Table: request.NewTable(table), Detokenizer: intake.Text(n.Tokenizer)},
		Executor: exec.New(n.Model, p.Vocab), Watchdog: c.WatchdogTimeout,
		Meter: n.Meter, Log: n.opt.Log,
		OnEpoch: func(messages.Epoch) { n.Meter.StartEpoch(n.Plan.Pages) },
		OnFatal: func(err error) {
			select {
			case n.Fatal <- err:
			default: // the first reason counts
			}
		},
	}
	if c.KVEvents {
		spec.Observer = &observer.Options{Keep: c.KVEventsBuffer, Stream: newSeed()}
	}
	if n.opt.Engine != nil {
		n.opt.Engine(&spec)
	}
	n.system = actor.NewActorSystem(actor.WithLoggerFactory(runtimeLog(n.opt.Log)))
	if n.Engine, err = engine.Start(n.system, spec); err != nil {
		return err
	}
	select {
	case <-n.Engine.Stands():
		return nil
	case err := <-n.Fatal:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
