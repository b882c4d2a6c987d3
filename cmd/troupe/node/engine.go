package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/route"
	"github.com/troupe-engine/troupe/telemetry"
)

// maxTopLogprobs is the API's limit.
const maxTopLogprobs = 20

// maxStopBytes limits the sum of a request's stop strings. Intake builds an automaton
// of them while all other requests wait: 24 bytes and about 1 µs per byte.
const maxStopBytes = 16 << 10

func stepsInFlight(c *configs.Config) int {
	if c.DisableOverlap {
		return 1
	}
	return 2
}

// tableOptions are the limits of intake.
func (n *Node) tableOptions() request.TableOptions {
	p := n.Checkpoint.Program
	return n.limits(facts{context: p.Context, pool: n.Plan.Tokens, vocab: p.Vocab, running: n.Plan.MaxRunning * len(n.Models)})
}

// facts are what intake must know of its engines.
type facts struct{ context, pool, vocab, running int }

func (n *Node) limits(f facts) request.TableOptions {
	c := n.Config()
	o, policy := c.Requests, c.Queue.SchedulePolicy
	o.ContextLength, o.PoolTokens, o.Vocab, o.MaxRunning = f.context, f.pool, f.vocab, f.running
	o.MaxLogprobs, o.MaxStopBytes = maxTopLogprobs, maxStopBytes
	o.Priorities, o.LowFirst = policy == "priority" || c.EvictionPolicy == "priority", c.LowPriorityFirst
	o.Displace, o.Fair = policy == "priority", policy == "fair"
	return o
}

// engineSpec describes the engine: the settings, and what the model and the memory plan
// decide.
func (n *Node) engineSpec() (engine.Spec, error) {
	c, p := n.Config(), n.Checkpoint.Program
	table, batch, queue, cache, alloc := n.tableOptions(), c.Batch, c.Queue, c.Cache, c.Alloc
	batch.PageSize, queue.PageSize, cache.PageSize = c.PageSize, c.PageSize, c.PageSize
	batch.PageBytes = int64(c.PageSize) * p.KV.BytesPerToken(n.KVDType)
	batch.Pages, alloc.Pages = n.Plan.Pages, n.Plan.Pages
	batch.CacheDisabled, queue.CacheDisabled, cache.Disabled = c.DisableRadixCache, c.DisableRadixCache, c.DisableRadixCache
	batch.LowPriorityFirst, queue.LowPriorityFirst = c.LowPriorityFirst, c.LowPriorityFirst
	batch.Aging, queue.Aging = c.ScheduleAging, c.ScheduleAging
	batch.MaxRunning, batch.ContextLength = n.Plan.MaxRunning, min(p.Context, n.Plan.Tokens)
	batch.ChunkedPrefillSize, batch.StepsInFlight, batch.GrammarTokensPerStep = c.Chunk(), stepsInFlight(c), exec.RunTokens
	queue.Seed = uint64(c.ScheduleSeed)
	cache.HashSeed, cache.History = newSeed(), policies.History(c.EvictionPolicy, n.Plan.Pages)
	for _, o := range []interface{ Validate() error }{table, &batch, &queue} {
		if err := o.Validate(); err != nil {
			return engine.Spec{}, err
		}
	}
	var err error
	if cache.Policy, err = policies.ByName(c.EvictionPolicy); err != nil {
		return engine.Spec{}, configs.About(err, "radix-eviction-policy")
	}
	spec := engine.Spec{
		Queue: queue, Batch: batch, Cache: cache, Alloc: alloc,
		Intake:   intake.Options{Table: request.NewTable(table), Detokenizer: intake.Text(n.Tokenizer)},
		Dispatch: dispatch.Options{Route: route.Options{Policy: c.LoadBalance, Seed: newSeed()}},
		Watchdog: c.WatchdogTimeout,
		Meter:    n.Meter, Log: n.opt.Log, OnFatal: n.Fail, OnBarren: n.super.barren,
	}
	steps := exec.Options{Vocab: p.Vocab, StepTokens: poolSpec(c, p, n.Plan.MaxRunning).StepTokens, Grammars: n.grammars}
	for i, m := range n.Models {
		meter := n.Meter.Engine(i)
		spec.Members = append(spec.Members, engine.Member{
			Executor: withKillToken(withStepTime(exec.New(m, steps), c.StepTime), c.KillToken, n.opt.Log), Meter: meter,
			OnEpoch: func(messages.Epoch) { meter.StartEpoch(n.Plan.Pages) },
		})
	}
	if cache.Events {
		events := c.Events
		events.Stream = newSeed()
		spec.Observer = &events
	}
	n.super.observe(&spec)
	return spec, nil
}

// startEngine starts the engine and waits for its first epoch.
func (n *Node) startEngine(ctx context.Context) error {
	for _, w := range n.Config().Warnings() {
		n.opt.Log.Warn().Msg(w)
	}
	spec, err := n.engineSpec()
	if err != nil {
		return err
	}
	n.Meter.ProbeMemory(n.pool)
	if n.opt.Engine != nil {
		n.opt.Engine(&spec)
	}
	if n.cluster != nil {
		err = n.cluster.openOwn(spec)
	} else {
		n.core, err = engine.Start(n.System, spec)
		n.Engine = n.core
	}
	if err != nil {
		return err
	}
	n.super.core.Store(n.core)
	select {
	case <-n.core.Started():
		return nil
	case err := <-n.Fatal:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startSystem starts what all actors share.
func (n *Node) startSystem(context.Context) error {
	n.System = actor.NewActorSystem(actor.WithLoggerFactory(runtimeLog(n.opt.Log)))
	name, engines := n.Name, n.Config().DataParallel
	if n.Checkpoint == nil {
		name, engines = "", 1
	}
	n.Meter = telemetry.New(name, engines, n.opt.Log)
	n.startRoster()
	if n.Config().Cluster.On() {
		if err := n.startCluster(); err != nil {
			n.cluster = nil
			return err
		}
	}
	return n.startSupervision()
}

// joinCluster offers the engine, if there is one, and looks for other nodes.
func (n *Node) joinCluster(ctx context.Context) error {
	if n.cluster == nil {
		return nil
	}
	if n.core != nil {
		if err := n.hashed(ctx); err != nil {
			return err
		}
		if err := n.cluster.serveOwn(); err != nil {
			return err
		}
	}
	n.super.clusterAPI().Join(n.cluster)
	return n.cluster.join()
}

func newSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
