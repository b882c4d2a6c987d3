package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/lab/plot"
	"github.com/troupe-engine/troupe/lab/replay"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
)

// engineFlags are the flags of `troupe replay` without --cache-only.
type engineFlags struct {
	gpu, shape, modelConfig string
	plot                    string
	gateways                []int
	delays                  []time.Duration
	opt                     replay.Options
}

func (f *engineFlags) add(flags *pflag.FlagSet) {
	f.opt = replay.Defaults()
	o := &f.opt
	flags.StringVar(&f.gpu, "gpu", costmodel.Names()[0], "device to simulate: "+strings.Join(costmodel.Names(), ", "))
	flags.StringVar(&f.shape, "model-shape", costmodel.ModelNames()[0], "built-in model shape: "+strings.Join(costmodel.ModelNames(), ", "))
	flags.StringVar(&f.modelConfig, "model-config", "", "take the model shape from the config.json of this Hugging Face directory, instead of --model-shape")
	flags.IntVar(&o.Replicas, "replicas", o.Replicas, "number of engines, each on its own device")
	flags.StringVar(&o.Routing, "routing", o.Routing, "how requests are distributed to the engines: "+strings.Join(route.Policies(), ", "))
	flags.IntSliceVar(&f.gateways, "gateways", []int{o.Gateways}, "number of gateways that share the engines, each with a router of its own; several numbers, comma-separated, are compared with one gateway")
	flags.DurationSliceVar(&f.delays, "event-delay", []time.Duration{o.EventDelay}, "delay with which gateways hear of the engines' caches and of each other's requests; several delays, comma-separated, are compared as well. Example: 10ms")
	flags.DurationVar(&o.LoseReplica, "lose-replica", 0, "virtual time at which the busiest engine is lost, with its cache; its requests continue on others. 0: never. Example: 30m")
	flags.DurationVar(&o.Restart, "replica-restart", o.Restart, "time until a lost engine is back, with an empty cache")
	flags.StringVar(&o.Policy, "policy", o.Policy, "schedule-policy of the engines: "+strings.Join(queue.Policies(), ", "))
	flags.IntVar(&o.KVTokens, "kv-tokens", 0, "tokens in each engine's KV pool; 0: as many as fit into the device's memory")
	flags.IntVar(&o.PageSize, "page-size", o.PageSize, "tokens in a page of the KV pool, a power of two")
	flags.Float64Var(&o.Speed, "speed", o.Speed, "speed factor: 2 replays the trace twice as fast")
	flags.Float64Var(&o.MemFraction, "mem-fraction-static", 0, "share of the device's memory for weights, workspace and KV pool; 0: the device's default")
	flags.IntVar(&o.MaxRunning, "max-running-requests", 0, "maximum number of running requests per engine; 0: the default for the size of the KV pool")
	flags.IntVar(&o.MaxPrefillTokens, "max-prefill-tokens", o.MaxPrefillTokens, "maximum tokens of a step; with chunked prefill, chunked-prefill-size lowers it and cannot be more")
	flags.IntVar(&o.ChunkedPrefillSize, "chunked-prefill-size", 0, "maximum tokens of a step that computes prompts, as in serve; 0: the device's default; -1: no chunked prefill")
	flags.DurationVar(&o.LatencyTarget, "inter-token-latency-target", 0, "target for the 99th percentile of the time between two tokens; 0: no target. Example: 50ms")
	flags.DurationVar(&o.Aging, "schedule-aging", o.Aging, "time after which a waiting request goes before all younger ones; 0: never")
	flags.BoolVar(&o.DisableOverlap, "disable-overlap-schedule", false, "plan a step only after the previous one is done")
	flags.BoolVar(&o.CacheDisabled, "disable-radix-cache", false, "disable the prefix cache")
	flags.StringVar(&f.plot, "plot", "", "draw KV pages, latencies and queues over time into this .svg or .png")
}

func (f *command) runEngine(c *cobra.Command) error {
	if err := cli.RefuseFlags(f.onlyCache, "requires --cache-only; --kv-tokens sets the size of an engine's pool"); err != nil {
		return err
	}
	opt, err := f.engine.options()
	if err != nil {
		return err
	}
	if opt.Eviction, err = f.engineEviction(); err != nil {
		return err
	}
	opt.Seed, opt.Limit = f.seed, f.limit
	if err := f.engine.checkPlot(); err != nil {
		return err
	}
	if f.engine.compares() {
		return f.runGateways(c, opt)
	}
	opt.Gateways, opt.EventDelay = f.engine.gateways[0], f.engine.delays[0]
	report, took, err := f.replay(c, opt, "replaying")
	if err != nil {
		return err
	}
	if err := f.printReport(c, report, took); err != nil || f.engine.plot == "" {
		return err
	}
	if err := report.Usage().WriteFile(f.engine.plot); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// replay replays the trace once, and measures how long that takes.
func (f *command) replay(c *cobra.Command, opt replay.Options, doing string) (*replay.Report, time.Duration, error) {
	from, err := f.open()
	if err != nil {
		return nil, 0, err
	}
	defer from.Close()
	status := cli.NewStatus()
	defer status.Clear()
	opt.Progress = func(p replay.Progress) {
		read := ""
		if p.Bytes > 0 {
			read = fmt.Sprintf("%3d %% of the trace read, ", p.Read*100/p.Bytes)
		}
		status.Show("%s: %s%d requests in %v of virtual time", doing, read, p.Requests, time.Duration(p.Seconds)*time.Second)
	}
	start := time.Now()
	report, err := replay.Run(c.Context(), from, opt)
	return report, time.Since(start), err
}

// printReport leaves real time out of the JSON, so that equal replays print equal
// bytes. Notes are part of the text; with JSON they also go to stderr.
func (f *command) printReport(c *cobra.Command, report *replay.Report, took time.Duration) error {
	if f.asJSON {
		for _, note := range report.Warnings {
			fmt.Fprintf(c.ErrOrStderr(), "note: %s\n", note)
		}
		return cli.PrintJSON(c.OutOrStdout(), report)
	}
	if err := report.WriteText(c.OutOrStdout()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "simulated in %v\n", took.Round(10*time.Millisecond))
	return err
}

// options looks up the device and the model.
func (f *engineFlags) options() (replay.Options, error) {
	opt := f.opt
	var err error
	if opt.GPU, err = costmodel.Lookup(f.gpu); err != nil {
		return opt, cli.UnknownValue("--gpu", err, f.gpu, costmodel.Names())
	}
	if f.modelConfig == "" {
		if opt.Model, err = costmodel.LookupModel(f.shape); err != nil {
			return opt, cli.UnknownValue("--model-shape", err, f.shape, costmodel.ModelNames())
		}
		return opt, nil
	}
	read, err := config.Load(os.DirFS(f.modelConfig), config.Options{})
	if err != nil {
		return opt, fmt.Errorf("--model-config %s: %w", f.modelConfig, err)
	}
	opt.Model = shapeOf(read, filepath.Base(filepath.Clean(f.modelConfig)))
	return opt, nil
}

// shapeOf converts a config for the cost model. K and V have kv-cache-dtype auto's type.
func shapeOf(m *config.Config, name string) costmodel.Model {
	kv := gpu.BF16
	if m.DType == gpu.F32 {
		kv = gpu.F32
	}
	return costmodel.Model{
		Name: name, Layers: m.Layers, Heads: m.Heads, KVHeads: m.KVHeads, HeadDim: m.HeadDim,
		Hidden: m.Hidden, Intermediate: m.Intermediate, Vocab: m.Vocab, Context: m.Context, Tied: m.Tied,
		WeightBytes: m.DType.BlockBytes(), KVBytes: kv.BlockBytes(),
	}
}

func (f *command) engineEviction() (string, error) {
	if len(f.evictions) != 1 {
		return "", fmt.Errorf("--eviction has %d policies, but an engine has only one; use one, or add --cache-only to compare them", len(f.evictions))
	}
	name := f.evictions[0]
	if _, err := policies.ByName(name); err != nil {
		return "", cli.UnknownValue("--eviction", err, name, policies.Names())
	}
	return name, nil
}

// checkPlot checks before a long replay whether the plot can be written.
func (f *engineFlags) checkPlot() error {
	if f.plot == "" {
		return nil
	}
	if err := plot.CheckPath(f.plot); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	if info, err := os.Stat(filepath.Dir(f.plot)); err != nil || !info.IsDir() {
		return fmt.Errorf("--plot %s: the directory %s does not exist", f.plot, filepath.Dir(f.plot))
	}
	return nil
}
