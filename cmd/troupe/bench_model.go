package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/lab/bench"
)

// benchModel is one run of `troupe bench model`.
type benchModel struct {
	matrix              bench.Matrix
	threads             []int
	repetitions, warmup int
	through             string
	seed                uint64
	readBytes           string
	shape               benchShape
	asJSON              bool
}

func newBenchModel() *cobra.Command {
	b := &benchModel{}
	c := &cobra.Command{
		Use: "model", Short: "Measure how fast a model computes prompts and tokens", Args: cobra.NoArgs,
		Long: "Computes random prompts (pp) and generates tokens (tg), as llama-bench does, and prints tokens per\n" +
			"second with what was read from memory for them, as a share of the bandwidth that is measured in turns\n" +
			"with the tests by as many threads. Every combination of the lists is a line; docs/bench.md tells\n" +
			"what each figure means.\n\n" +
			"The model is --model, or a --shape with random weights. An interrupt prints what was measured.",
		Example: "  troupe bench model --model model.gguf --threads 2\n" +
			"  troupe bench model --model model.gguf --prompt 512,2048 --generate 128 --depth 0,4096 --batch 1,8,32\n" +
			"  troupe bench model --shape qwen2.5-1.5b --weight-dtype q8_0 --through step --json\n" +
			"  troupe bench model --shape qwen2.5-1.5b --weight-dtype q8_0 --write-gguf random.gguf",
		RunE: func(c *cobra.Command, _ []string) error { return b.run(c) },
	}
	flags := c.Flags()
	engine := pflag.NewFlagSet("", pflag.ContinueOnError)
	configs.AddEngineFlags(engine)
	engine.VisitAll(func(f *pflag.Flag) {
		if f.Name != "threads" { // a list here
			flags.AddFlag(f)
		}
	})
	flags.IntSliceVar(&b.matrix.Prompts, "prompt", []int{512}, "tokens of prompts, a test for each; 0 is none")
	flags.IntSliceVar(&b.matrix.Generates, "generate", []int{128}, "tokens that each sequence generates, a test for each; 0 is none")
	flags.IntSliceVar(&b.matrix.Depths, "depth", []int{0}, "tokens that are in the cache before a test begins, not timed")
	flags.IntSliceVar(&b.matrix.Batches, "batch", []int{1}, "sequences that generate together")
	flags.IntSliceVar(&b.threads, "threads", nil, "worker threads, the model is loaded anew for each; by default as many as the setting says")
	flags.IntVar(&b.repetitions, "repetitions", 5, "how often each test is done")
	flags.IntVar(&b.warmup, "warmup", 1, "repetitions before, which do not count")
	flags.StringVar(&b.through, "through", "engine", "engine: requests through the actors, as a server does without HTTP; step: steps of the device alone; http: clients that stream from a server in this process, for --generate only")
	flags.Uint64Var(&b.seed, "seed", 1, "makes prompts repeatable, and the weights of --shape")
	flags.StringVar(&b.readBytes, "read-bytes", "1536MiB", "memory to measure the read bandwidth with, several times the caches")
	flags.BoolVar(&b.asJSON, "json", false, "print JSON")
	b.shape.add(flags)
	return c
}

// check reads what flags say.
func (b *benchModel) check() (tests []bench.Test, readBytes int64, err error) {
	if tests, err = b.matrix.Tests(); err != nil {
		return nil, 0, err
	}
	if b.repetitions < 1 || b.warmup < 0 {
		return nil, 0, fmt.Errorf("--repetitions must be at least 1 and --warmup at least 0, they are %d and %d", b.repetitions, b.warmup)
	}
	if b.through != "engine" && b.through != "step" && b.through != "http" {
		return nil, 0, fmt.Errorf("--through is %q, want engine, step or http", b.through)
	}
	if b.through == "http" && slices.Max(b.matrix.Prompts) > 0 {
		return nil, 0, errors.New("--through http measures generating; give --prompt 0, or take --through engine")
	}
	for _, t := range b.threads {
		if t < 1 {
			return nil, 0, fmt.Errorf("--threads has %d, it must be 1 or more", t)
		}
	}
	if readBytes, err = parseBytes(b.readBytes); err != nil {
		return nil, 0, fmt.Errorf("--read-bytes: %w", err)
	}
	return tests, readBytes, nil
}

// settings are those of all flags but --threads.
func (b *benchModel) settings(c *cobra.Command) (*configs.Config, error) {
	others := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "threads" {
			others.AddFlag(f)
		}
	})
	cfg, _, err := loadWith(c, others)
	if err != nil {
		return nil, err
	}
	if b.through != "step" && cfg.DisableRadixCache && slices.Max(b.matrix.Depths) > 0 {
		return nil, errors.New("--depth fills the prefix cache, which --disable-radix-cache switches off; leave one of them out, or take --through step")
	}
	if b.through == "http" { // clients in this process need no key
		cfg.HTTP.APIKeys, cfg.HTTP.AdminAPIKey, cfg.HTTP.TLSCert, cfg.HTTP.TLSKey = nil, "", "", ""
	}
	if most := slices.Max(b.matrix.Batches); cfg.Pool.MaxRunning == 0 && most > 64 {
		cfg.Pool.MaxRunning = most
	}
	return cfg, nil
}

func (b *benchModel) run(c *cobra.Command) (err error) {
	tests, readBytes, err := b.check()
	if err != nil {
		return err
	}
	cfg, err := b.settings(c)
	if err != nil {
		return err
	}
	remove, err := b.shape.apply(cfg, b.seed)
	if err != nil {
		return err
	}
	defer remove()
	level, err := simd.ParseLevel(cfg.CPU.InstructionSet)
	if err != nil {
		return err
	}
	memory, err := bench.NewMemory(readBytes, level)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	report := &bench.Report{Setup: bench.Setup{
		Through: b.through, Repetitions: b.repetitions, Warmup: b.warmup, Seed: b.seed, ReadBytes: memory.Size(), Chunk: chunk(cfg), Flags: given(c.Flags())}}
	if len(b.threads) == 0 {
		b.threads = []int{cfg.CPU.Threads}
	}
	for _, threads := range b.threads {
		own := *cfg
		own.CPU.Threads = threads
		err := b.measure(c, &own, tests, memory, report)
		if c.Context().Err() != nil && len(report.Results) > 0 {
			report.Interrupted = true
			break
		}
		if err != nil {
			return err
		}
	}
	report.Notes = b.notes(report)
	if b.asJSON {
		return printJSON(c.OutOrStdout(), report)
	}
	return report.WriteText(c.OutOrStdout())
}

// chunk is how many tokens of a prompt a step computes at most.
func chunk(cfg *configs.Config) int {
	if n := cfg.Chunk(); n > 0 {
		return min(n, cfg.Batch.MaxPrefillTokens)
	}
	return 1 << 30 // whole prompts
}

// given are the flags that were set, by name.
func given(flags *pflag.FlagSet) map[string]string {
	set := map[string]string{}
	flags.Visit(func(f *pflag.Flag) { set[f.Name] = f.Value.String() })
	return set
}

// measure opens the model with a number of threads and does all tests.
func (b *benchModel) measure(c *cobra.Command, cfg *configs.Config, tests []bench.Test, memory *bench.Memory, report *bench.Report) (err error) {
	ctx, log := c.Context(), newLogger(cfg)
	if !c.Flags().Changed("log-level") {
		log = log.Level(zerolog.WarnLevel)
	}
	open := node.Open
	if b.through == "step" {
		open = node.OpenModel
	}
	n, err := open(ctx, node.Options{Config: cfg, Log: log, Version: versionText(), Progress: progress(), Unhashed: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.CloseInTime(ctx)) }()
	b.describe(report, n, cfg, memory)
	subject, err := b.subject(n, cfg, tests)
	if err != nil {
		return err
	}
	if b.through == "http" {
		clients, stop, err := overHTTP(n, b.seed)
		if err != nil {
			return err
		}
		defer stop()
		subject = clients
	}
	runtime.GC() // what loading left; it is not what is measured
	threads := n.Device.Info().Threads
	plan := bench.Plan{
		Tests: tests, Repetitions: b.repetitions, Warmup: b.warmup, Threads: threads,
		Bandwidth: func() float64 { return memory.Bandwidth(threads) }, Progress: showTest(threads),
		Traffic: bench.Traffic{KVBytes: n.Checkpoint.Program.KV.BytesPerToken(n.KVDType)},
	}
	if r, ok := n.Model.(gpu.WeightReader); ok {
		plan.Traffic.WeightBytes = r.WeightBytesRead()
	}
	results, err := bench.Run(ctx, subject, plan)
	clearLine()
	report.Results = append(report.Results, results...)
	return err
}

// subject is the engine or the model, after all tests were found to fit.
func (b *benchModel) subject(n *node.Node, cfg *configs.Config, tests []bench.Test) (bench.Subject, error) {
	p := n.Checkpoint.Program
	if b.through == "step" {
		layout, err := gpu.ParseLayout(cfg.KVLayout)
		if err != nil {
			return nil, err
		}
		return bench.NewSteps(n.Model, bench.StepOptions{
			Program: p, Pool: gpu.PoolSpec{PageSize: cfg.PageSize, DType: n.KVDType, Layout: layout}, Chunk: chunk(cfg), Seed: b.seed, Tests: tests})
	}
	limits := bench.Limits{Context: p.Context, Pool: n.Plan.Tokens, Running: n.Plan.MaxRunning, PageSize: cfg.PageSize}
	for _, t := range tests {
		if err := limits.Check(t); err != nil {
			return nil, err
		}
	}
	return bench.NewEngine(bench.EngineOptions{
		Send: n.Engine.Send, Fatal: n.Fatal, Vocab: min(p.Vocab, n.Tokenizer.VocabSize()), Seed: b.seed, Chunk: chunk(cfg), PageSize: cfg.PageSize, Probe: n.ProbeDelay}), nil
}

// describe fills in what is known once the model is open.
func (b *benchModel) describe(report *bench.Report, n *node.Node, cfg *configs.Config, memory *bench.Memory) {
	total := int64(0)
	if m, err := n.Device.Memory(); err == nil {
		total = m.Total
	}
	report.Machine = bench.ThisMachine(versionText(), memory.Level().String(), total)
	c := n.Checkpoint
	report.Model = bench.Model{
		Name: n.Name, Path: cfg.Model, Architecture: c.Config.Architecture, Parameters: c.Config.Parameters(), Bytes: n.Model.Bytes()["weights"],
		WeightDType: c.WeightDType().String(), KVDType: n.KVDType.String(), Random: cfg.Open.LoadFormat == "dummy" || b.shape.name != "",
	}
	report.Model.Replaced = b.shape.replaced
	if b.shape.temporary {
		report.Model.Path = ""
	}
	if cfg.CPU.WeightDType != "auto" {
		report.Model.WeightDType = cfg.CPU.WeightDType
	} else if plan, err := n.Device.PlanWeights(c.Program, c.Weights); err == nil {
		for _, w := range plan.Changed { // a type without a kernel changes as a whole
			if w.Stored == c.WeightDType() {
				report.Model.HeldDType = w.Held.String()
			}
		}
	}
	report.Model.Activations = "f32"
	if d, err := gpu.ParseDType(report.Model.WeightDType); err == nil && d.Quantised() && n.Device.Info().Int8Activations {
		report.Model.Activations = "int8"
	}
}

// notes say what a reader must know.
func (b *benchModel) notes(r *bench.Report) (notes []string) {
	if note := replacedNote(r.Model.Replaced); note != "" {
		notes = append(notes, note)
	}
	if r.Machine.CacheBytes > r.Setup.ReadBytes/4 {
		notes = append(notes, fmt.Sprintf("caches of %s may hold a part of the %s that the bandwidth is measured with; raise --read-bytes", amount(r.Machine.CacheBytes, "bytes"), amount(r.Setup.ReadBytes, "bytes")))
	}
	if r.Model.Bytes < r.Machine.CacheBytes {
		notes = append(notes, "the weights fit into the caches: their share of the bandwidth of memory means little and may be above 100 %")
	}
	for _, t := range b.threads {
		if t > r.Machine.Cores {
			notes = append(notes, fmt.Sprintf("%d threads are more than the %d cores", t, r.Machine.Cores))
		}
	}
	return notes
}
