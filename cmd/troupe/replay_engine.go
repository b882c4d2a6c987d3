package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/lab/plot"
	"github.com/troupe-engine/troupe/lab/replay"
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
)

// engineReplayFlags are the flags of `troupe replay` without --cache-only.
type engineReplayFlags struct {
	gpu, shape, modelConfig string
	plot                    string
	aging                   time.Duration
	opt                     replay.Options
}

// engineFlags are the names of the flags that --cache-only has no use for.
var engineFlags = []string{"gpu", "model-shape", "model-config", "replicas", "routing", "policy", "kv-tokens", "page-size", "speed",
	"mem-fraction-static", "max-running-requests", "max-prefill-tokens", "chunked-prefill-size",
	"inter-token-latency-target", "schedule-aging", "disable-overlap-schedule", "disable-radix-cache", "plot"}

// cacheOnlyFlags are the names of those that only --cache-only has a use for.
var cacheOnlyFlags = []string{"capacity", "index", "eviction-history", "compare", "by-conversation"}

func (f *engineReplayFlags) add(flags *pflag.FlagSet) {
	o := &f.opt
	flags.StringVar(&f.gpu, "gpu", costmodel.Names()[0], "device to simulate: "+strings.Join(costmodel.Names(), ", "))
	flags.StringVar(&f.shape, "model-shape", costmodel.ModelNames()[0], "built-in model shape: "+strings.Join(costmodel.ModelNames(), ", "))
	flags.StringVar(&f.modelConfig, "model-config", "", "Hugging Face directory whose config.json gives the shape instead")
	flags.IntVar(&o.Replicas, "replicas", 1, "number of engines, each on a device of its own")
	flags.StringVar(&o.Routing, "routing", route.CacheAware, "how requests are given to replicas: "+strings.Join(route.Policies(), ", "))
	flags.StringVar(&o.Policy, "policy", "fcfs", "schedule-policy of each engine: "+strings.Join(queue.Policies(), ", "))
	flags.IntVar(&o.KVTokens, "kv-tokens", 0, "tokens in each engine's KV pool; 0 is what the device's memory allows")
	flags.IntVar(&o.PageSize, "page-size", 64, "tokens in a page of the KV pool, a power of two")
	flags.Float64Var(&o.Speed, "speed", 1, "how much faster than recorded requests arrive. Example: 2")
	flags.Float64Var(&o.MemFraction, "mem-fraction-static", 0, "share of the device's memory for weights, workspace and KV pool; 0 is the device's default")
	flags.IntVar(&o.MaxRunning, "max-running-requests", 0, "requests that run at once in an engine; 0 is the pool's default")
	flags.IntVar(&o.MaxPrefillTokens, "max-prefill-tokens", former.DefaultMaxPrefillTokens, "tokens that one step computes")
	flags.IntVar(&o.ChunkedPrefillSize, "chunked-prefill-size", 0, "tokens of long prompts that one step computes; 0 is the device's default, -1 switches chunks off")
	flags.DurationVar(&o.LatencyTarget, "inter-token-latency-target", 0, "time between two tokens that 99 of 100 steps shall keep; 0 is no target. Example: 50ms")
	flags.DurationVar(&f.aging, "schedule-aging", time.Minute, "time after which a waiting request goes before every younger one; 0 is never")
	flags.BoolVar(&o.DisableOverlap, "disable-overlap-schedule", false, "plan a step only when the one before it is done")
	flags.BoolVar(&o.CacheDisabled, "disable-radix-cache", false, "keep nothing for later requests")
	flags.StringVar(&f.plot, "plot", "", "draw KV pages, latencies and queues over time into this .svg or .png")
}

// runEngine replays whole engines.
func (f *replayFlags) runEngine(c *cobra.Command) error {
	if err := refuseFlags(c, cacheOnlyFlags, "goes with --cache-only; --kv-tokens sizes an engine's pool"); err != nil {
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
	from, err := f.open()
	if err != nil {
		return err
	}
	defer from.Close()
	show := engineProgress()
	opt.Progress = func(p replay.Progress) { show(&p) }
	start := time.Now()
	report, err := replay.Run(c.Context(), from, opt)
	took := time.Since(start)
	show(nil)
	if err != nil {
		return err
	}
	if err := f.printReport(c, report, took); err != nil {
		return err
	}
	if f.engine.plot == "" {
		return nil
	}
	if err := report.Figure().WriteFile(f.engine.plot); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// printReport keeps what took real time out of JSON: equal replays print equal
// bytes. What a person must know stands in the text, or on stderr where a
// program takes the report.
func (f *replayFlags) printReport(c *cobra.Command, report *replay.Report, took time.Duration) error {
	if f.asJSON {
		for _, note := range report.Warnings {
			fmt.Fprintf(c.ErrOrStderr(), "note: %s\n", note)
		}
		return printJSON(c.OutOrStdout(), report)
	}
	if err := report.WriteText(c.OutOrStdout()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "simulated in %v\n", took.Round(10*time.Millisecond))
	return err
}

// options finds device and model.
func (f *engineReplayFlags) options() (replay.Options, error) {
	opt := f.opt
	// Zero would mean the default, which nobody asks for in this way.
	switch {
	case opt.Speed == 0:
		return opt, errors.New("--speed is 0; it must be above 0: 2 sends the trace twice as fast")
	case opt.Replicas == 0:
		return opt, errors.New("--replicas is 0; it must be at least 1")
	case opt.PageSize == 0:
		return opt, fmt.Errorf("--page-size %w", paging.CheckSize(0))
	case opt.MaxPrefillTokens == 0:
		return opt, errors.New("--max-prefill-tokens is 0; it must be positive")
	}
	if f.aging < 0 {
		return opt, fmt.Errorf("--schedule-aging is %v; it must be positive, or 0 for never", f.aging)
	}
	if opt.Aging = f.aging; f.aging == 0 {
		opt.Aging = -1
	}
	var err error
	if opt.GPU, err = costmodel.Lookup(f.gpu); err != nil {
		return opt, nearest("--gpu", err, f.gpu, costmodel.Names())
	}
	if f.modelConfig == "" {
		if opt.Model, err = costmodel.LookupModel(f.shape); err != nil {
			return opt, nearest("--model-shape", err, f.shape, costmodel.ModelNames())
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

// shapeOf takes from a model's config what the cost model needs. K and V have
// the type that kv-cache-dtype auto gives them.
func shapeOf(m *config.Config, name string) costmodel.Model {
	kv := gpu.BF16
	if m.DType == gpu.F32 {
		kv = gpu.F32
	}
	return costmodel.Model{
		Name: name, Source: config.File, Layers: m.Layers, Heads: m.Heads, KVHeads: m.KVHeads, HeadDim: m.HeadDim,
		Hidden: m.Hidden, Intermediate: m.Intermediate, Vocab: m.Vocab, Context: m.Context, Tied: m.Tied,
		WeightBytes: m.DType.BlockBytes(), KVBytes: kv.BlockBytes(),
	}
}

// engineEviction is the one policy that an engine's cache takes.
func (f *replayFlags) engineEviction() (string, error) {
	if len(f.cache.evictions) != 1 {
		return "", fmt.Errorf("--eviction names %d policies; an engine has one (several go with --cache-only)", len(f.cache.evictions))
	}
	name := f.cache.evictions[0]
	if _, err := policies.ByName(name); err != nil {
		return "", nearest("--eviction", err, name, policies.Names())
	}
	return name, nil
}

// checkPlot finds out before a long replay whether its picture can be written.
func (f *engineReplayFlags) checkPlot() error {
	if f.plot == "" {
		return nil
	}
	if _, err := plot.FormatOf(f.plot); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	if info, err := os.Stat(filepath.Dir(f.plot)); err != nil || !info.IsDir() {
		return fmt.Errorf("--plot %s: there is no directory %s", f.plot, filepath.Dir(f.plot))
	}
	return nil
}

// refuseFlags refuses flags that were given in the wrong company.
func refuseFlags(c *cobra.Command, names []string, why string) error {
	for _, name := range names {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s %s", name, why)
		}
	}
	return nil
}

// nearest adds the name that was meant to an error.
func nearest(flag string, err error, name string, known []string) error {
	if near := configs.Nearest(name, known); near != "" && near != name {
		return fmt.Errorf("%s: %w; did you mean %s?", flag, err, near)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// engineProgress draws one line on a terminal, and clears it for nil.
func engineProgress() func(*replay.Progress) {
	if !isTerminal(os.Stderr) {
		return func(*replay.Progress) {}
	}
	start, shown := time.Now(), time.Time{}
	return func(p *replay.Progress) {
		now := time.Now()
		switch {
		case p == nil && !shown.IsZero():
			fmt.Fprint(os.Stderr, "\r\x1b[K")
		case p != nil && now.Sub(start) > 300*time.Millisecond && now.Sub(shown) > 100*time.Millisecond:
			shown = now
			read := ""
			if p.Bytes > 0 {
				read = fmt.Sprintf("%3d %% of the trace read, ", p.Read*100/p.Bytes)
			}
			fmt.Fprintf(os.Stderr, "\r\x1b[Kreplaying: %s%d requests in %v of virtual time", read, p.Requests, time.Duration(p.Seconds)*time.Second)
		}
	}
}
