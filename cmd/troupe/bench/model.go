package bench

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/load/work"
	"github.com/troupe-engine/troupe/lab/measure"
)

type modelCommand struct {
	bench.Setup
	engine    *pflag.FlagSet // the settings, including a threads flag of their own
	matrix    bench.Matrix
	threads   []int
	readBytes string
	shape     shape
	asJSON    bool
}

func newModel() *cobra.Command {
	b := &modelCommand{engine: pflag.NewFlagSet("", pflag.ContinueOnError)}
	c := &cobra.Command{
		Use: "model", Short: "Measure how fast a model processes prompts and generates tokens", Args: cli.NoArgs,
		Long: "Processes random prompts (pp) and generates tokens (tg), like llama-bench. Prints tokens per second, and the\n" +
			"memory traffic as a share of the bandwidth, which is measured between the tests with the\n" +
			"same number of threads. Each combination of the lists gives one line. docs/bench.md explains the figures.\n" +
			"With --device cuda the line \"device\" names the GPU, and there are neither threads nor memory traffic.\n\n" +
			"The model is --model, or a --shape with random weights. An interrupt prints the results so far.",
		Example: "  troupe bench model --model model.gguf --threads 2\n" +
			"  troupe bench model --model model.gguf --prompt 512,2048 --generate 128 --depth 0,4096 --batch 1,8,32\n" +
			"  troupe bench model --shape qwen2.5-1.5b --weight-dtype q8_0 --through step --json\n" +
			"  troupe bench model --shape qwen2.5-1.5b --weight-dtype q8_0 --write-gguf random.gguf",
		RunE: func(c *cobra.Command, _ []string) error { return b.run(c) },
	}
	flags := c.Flags()
	flags.IntSliceVar(&b.matrix.Prompts, "prompt", []int{512}, "prompt lengths in tokens, one test each; 0: none")
	flags.IntSliceVar(&b.matrix.Generates, "generate", []int{128}, "tokens to generate per sequence, one test each; 0: none")
	flags.IntSliceVar(&b.matrix.Depths, "depth", []int{0}, "tokens in the cache before a test begins, not timed")
	flags.IntSliceVar(&b.matrix.Batches, "batch", []int{1}, "numbers of sequences that generate at the same time")
	flags.IntSliceVar(&b.threads, "threads", nil, "list of thread counts; the model is reloaded for each (default: the threads setting)")
	flags.IntVar(&b.Repetitions, "repetitions", 5, "repetitions of each test")
	flags.IntVar(&b.Warmup, "warmup", 1, "warm-up repetitions")
	flags.StringVar(&b.Through, "through", "engine", "what to measure: engine (requests to the engine, without HTTP), step (only steps of the device) or http (streaming clients of a server in this process; only --generate)")
	flags.Uint64Var(&b.Seed, "seed", 1, "seed of the prompts and of the weights of --shape")
	flags.StringVar(&b.readBytes, "read-bytes", "1536MiB", "memory to read when measuring the bandwidth; use several times the size of the CPU caches")
	flags.BoolVar(&b.asJSON, "json", false, "print JSON")
	b.shape.add(flags)
	configs.AddEngineFlags(b.engine)
	flags.AddFlagSet(b.engine) // all but threads, which is a list here
	return c
}

func (b *modelCommand) check() (tests []bench.Test, readBytes int64, err error) {
	if tests, err = b.matrix.Tests(); err != nil {
		return nil, 0, err
	}
	if err = cmp.Or(work.AtLeast(1, b.Repetitions, "repetitions"), work.AtLeast(0, b.Warmup, "warmup")); err != nil {
		return nil, 0, err
	}
	if b.Through != "engine" && b.Through != "step" && b.Through != "http" {
		return nil, 0, fmt.Errorf("--through is %q; use engine, step or http", b.Through)
	}
	if b.Through == "http" && slices.Max(b.matrix.Prompts) > 0 {
		return nil, 0, errors.New("--through http measures only generation; use --prompt 0 or --through engine")
	}
	for _, t := range b.threads {
		if t < 1 {
			return nil, 0, fmt.Errorf("--threads has %d; each entry must be at least 1", t)
		}
	}
	if readBytes, err = units.ParseBytes(b.readBytes); err != nil {
		return nil, 0, fmt.Errorf("--read-bytes: %w", err)
	}
	return tests, readBytes, nil
}

// settings loads the settings; --threads is a list and not one of them.
func (b *modelCommand) settings(c *cobra.Command) (*configs.Config, error) {
	cfg, err := cli.ConfigFrom(c, b.engine)
	if err != nil {
		return nil, err
	}
	if b.Through != "step" && cfg.DisableRadixCache && slices.Max(b.matrix.Depths) > 0 {
		return nil, errors.New("--depth requires the prefix cache, which --disable-radix-cache disables; remove one of them or use --through step")
	}
	if b.Through == "http" { // clients in this process send no key
		cfg.HTTP.APIKeys, cfg.HTTP.Keys, cfg.HTTP.AdminAPIKey, cfg.HTTP.TLSCert, cfg.HTTP.TLSKey = nil, nil, "", "", ""
	}
	if most := slices.Max(b.matrix.Batches); cfg.Pool.MaxRunning == 0 && most > 64 {
		cfg.Pool.MaxRunning = most
	}
	return cfg, nil
}

func (b *modelCommand) run(c *cobra.Command) (err error) {
	tests, readBytes, err := b.check()
	if err != nil {
		return err
	}
	cfg, err := b.settings(c)
	if err != nil {
		return err
	}
	defer func() { os.RemoveAll(b.shape.dir) }() // does nothing if it is ""
	if err := b.shape.apply(cfg, b.Seed); err != nil {
		return err
	}
	level, err := simd.ParseLevel(cfg.CPU.InstructionSet)
	if err != nil {
		return err
	}
	memory, err := bench.NewMemory(readBytes, level)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	b.ReadBytes, b.Chunk, b.Flags = memory.Size(), chunk(cfg), cli.GivenFlags(c.Flags())
	report := &bench.Report{Setup: b.Setup}
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
	return cli.Print(c, b.asJSON, report, report.WriteText)
}

// chunk is the maximum number of prompt tokens per step.
func chunk(cfg *configs.Config) int {
	if n := cfg.Chunk(); n > 0 {
		return min(n, cfg.Batch.MaxPrefillTokens)
	}
	return 1 << 30 // whole prompts
}

// measure opens the model with a number of threads and runs all tests.
func (b *modelCommand) measure(c *cobra.Command, cfg *configs.Config, tests []bench.Test, memory *bench.Memory, report *bench.Report) (err error) {
	ctx := c.Context()
	open := node.Open
	if b.Through == "step" {
		open = node.OpenModel
	}
	options := cli.NodeOptions(c, cfg)
	options.Unhashed = true
	n, err := open(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.CloseInTime(ctx)) }()
	threads, status := n.Device.Info().Threads, cli.NewStatus()
	if threads == 0 && c.Flags().Changed("threads") {
		return errors.New("only the CPU device has threads; remove --threads, or set device to cpu")
	}
	b.describe(c, report, n, cfg, memory)
	subject, err := b.subject(n, cfg, tests)
	if err != nil {
		return err
	}
	if b.Through == "http" {
		var stop func()
		if subject, stop, err = overHTTP(n, b.Seed); err != nil {
			return err
		}
		defer stop()
	}
	runtime.GC() // so that garbage of loading is not collected during a measurement
	with := ""
	plan := bench.Plan{
		Tests: tests, Repetitions: b.Repetitions, Warmup: b.Warmup, Threads: threads,
		Progress: func(done, all int, t bench.Test) { status.Show("%d/%d  %s%s", done, all, t, with) },
		Traffic:  bench.Traffic{KVBytes: n.Checkpoint.Program.KV.BytesPerToken(n.KVDType)},
	}
	if threads > 0 {
		plan.Bandwidth = func() float64 { return memory.Bandwidth(threads) }
		with = ", " + units.Count(threads, "thread")
	}
	if b.Through != "step" {
		plan.Probe = probeDelay(n.System)
	}
	if r, ok := n.Model.(gpu.WeightReader); ok {
		plan.Traffic.WeightBytes = r.WeightBytesRead()
	}
	results, err := bench.Run(ctx, subject, plan)
	status.Clear()
	report.Results = append(report.Results, results...)
	return err
}

// subject returns the engine or the model to measure, and checks that all tests fit.
func (b *modelCommand) subject(n *node.Node, cfg *configs.Config, tests []bench.Test) (bench.Subject, error) {
	p := n.Checkpoint.Program
	if b.Through == "step" {
		layout, err := gpu.ParseLayout(cfg.KVLayout)
		if err != nil {
			return nil, err
		}
		return bench.NewSteps(n.Model, bench.StepOptions{
			Program: p, Pool: gpu.PoolSpec{PageSize: cfg.PageSize, DType: n.KVDType, Layout: layout}, Chunk: b.Chunk, Seed: b.Seed, Tests: tests})
	}
	limits := bench.Limits{Context: p.Context, Pool: n.Plan.Tokens, Running: n.Plan.MaxRunning, PageSize: cfg.PageSize}
	for _, t := range tests {
		if err := limits.Check(t); err != nil {
			return nil, err
		}
	}
	return bench.NewEngine(bench.EngineOptions{
		Send: n.Engine.Send, Fatal: n.Fatal, Vocab: min(p.Vocab, n.Tokenizer.VocabSize()), Seed: b.Seed, Chunk: b.Chunk, PageSize: cfg.PageSize}), nil
}

// describe adds the machine and the model to the report.
func (b *modelCommand) describe(c *cobra.Command, report *bench.Report, n *node.Node, cfg *configs.Config, memory *bench.Memory) {
	info := n.Device.Info()
	report.Machine = bench.ThisMachine(c.Root().Version, memory.Level().String(), hostMemory(cfg))
	if available, err := n.Device.Memory(); err == nil && available.Own {
		report.Machine.GPU, report.Machine.GPUBytes = info.Name, available.Total
		report.Setup.ReadBytes = 0 // the host's memory is not read
	}
	m := n.Checkpoint
	report.Model = bench.Model{
		Name: n.Name, Path: cfg.Model, Architecture: m.Config.Architecture, Parameters: m.Config.Parameters(), Bytes: n.Model.Bytes()["weights"],
		WeightDType: m.WeightDType().String(), KVDType: n.KVDType.String(), Random: cfg.Open.LoadFormat == "dummy" || b.shape.name != "",
	}
	report.Model.Replaced = b.shape.replaced
	if b.shape.dir != "" {
		report.Model.Path = ""
	}
	if cfg.CPU.WeightDType != "auto" {
		report.Model.WeightDType = cfg.CPU.WeightDType
	} else if plan, err := n.Device.PlanWeights(m.Program, m.Weights); err == nil {
		for _, w := range plan.Changed { // all matrices of a type without a kernel change
			if w.Stored == m.WeightDType() {
				report.Model.HeldDType = w.Held.String()
			}
		}
	}
	report.Model.Activations = "f32"
	if d, err := gpu.ParseDType(report.Model.WeightDType); err == nil && d.Quantised() && info.Int8Activations {
		report.Model.Activations = "int8"
	}
	if d, err := gpu.ParseDType(cmp.Or(report.Model.HeldDType, report.Model.WeightDType)); err == nil {
		if input, rounded := info.Inputs[d]; rounded {
			report.Model.Activations = input.String()
		}
	}
}

// hostMemory is the memory that programs on the CPU can have; 0 if it is not known.
func hostMemory(cfg *configs.Config) int64 {
	processor, err := cpu.New(cfg.CPU)
	if err != nil {
		return 0
	}
	memory, err := processor.Memory()
	if err != nil {
		return 0
	}
	return memory.Total
}

func (b *modelCommand) notes(r *bench.Report) (notes measure.Notes) {
	replaced := replacedNote(r.Model.Replaced)
	notes.If(replaced != "", "%s", replaced)
	if r.Machine.GPU != "" {
		return notes
	}
	notes.If(r.Machine.CacheBytes > r.Setup.ReadBytes/4, "--read-bytes %s is less than four times the CPU caches (%s), so the measured bandwidth may be too high; raise it",
		units.Bytes(r.Setup.ReadBytes), units.Bytes(r.Machine.CacheBytes))
	notes.If(r.Model.Bytes < r.Machine.CacheBytes, "the weights fit into the CPU caches, so the share of the memory bandwidth is not meaningful and may exceed 100 %%")
	for _, t := range b.threads {
		notes.If(t > r.Machine.Cores, "%d threads are more than the %d cores of this machine", t, r.Machine.Cores)
	}
	return notes
}
