package bench

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/bench/kernels"
	"github.com/troupe-engine/troupe/lab/load/work"
)

type kernelsCommand struct {
	levels    []string
	choice    kernels.Choice
	rounds    int
	least     time.Duration
	readBytes string
	asJSON    bool
}

func newKernels() *cobra.Command {
	b := &kernelsCommand{}
	c := &cobra.Command{
		Use: "kernels", Short: "Measure the kernels of the CPU device", Args: cli.NoArgs,
		Long: "Runs matrix products, attention and row-wise kernels on one thread, with the sizes of a model of 1.5\n" +
			"billion parameters. Prints bytes read and operations per second, also as shares of the memory bandwidth\n" +
			"and of the peak arithmetic rates, which are measured alternately with the kernels. docs/bench.md explains\n" +
			"the figures. An interrupt prints the results so far.",
		Example: "  troupe bench kernels\n  troupe bench kernels --level avx2,avx512 --kernel gemm,integer --form q8,q4 --tokens 1,16",
		RunE:    func(c *cobra.Command, _ []string) error { return b.run(c) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&b.levels, "level", nil, "instruction sets: amx, avx512, avx2, portable; default: all that the processor has")
	flags.StringSliceVar(&b.choice.Kinds, "kernel", nil, "kinds: gemm (float32 activations), integer (int8 activations), attention, small (kernels on rows of activations); default: all")
	flags.StringSliceVar(&b.choice.Forms, "form", nil, "types of weights and of K and V: f32, bf16, f16, q8, q4, q4_1, q4_k, q6_k, int8; default: all")
	flags.IntSliceVar(&b.choice.Tokens, "tokens", kernels.DefaultTokens, "numbers of tokens (rows of activations) in a matrix product")
	flags.IntVar(&b.rounds, "rounds", 5, "number of rounds; the median is reported")
	flags.DurationVar(&b.least, "round-time", 40*time.Millisecond, "minimum processor time of a kernel per round")
	flags.StringVar(&b.readBytes, "read-bytes", "1536MiB", "memory for the weights; use several times the size of the CPU caches, so that kernels read from memory")
	flags.BoolVar(&b.asJSON, "json", false, "print JSON")
	return c
}

func (b *kernelsCommand) check() (readBytes int64, err error) {
	for _, name := range b.levels {
		l, err := simd.ParseLevel(name)
		if err != nil {
			return 0, fmt.Errorf("--level: %w", err)
		}
		b.choice.Levels = append(b.choice.Levels, l)
	}
	if err := cmp.Or(work.AtLeast(1, b.rounds, "rounds"), work.AtLeast(time.Microsecond, b.least, "round-time")); err != nil {
		return 0, err
	}
	if readBytes, err = units.ParseBytes(b.readBytes); err != nil {
		return 0, fmt.Errorf("--read-bytes: %w", err)
	}
	return readBytes, b.choice.Check()
}

func (b *kernelsCommand) run(c *cobra.Command) (err error) {
	readBytes, err := b.check()
	if err != nil {
		return err
	}
	memory, err := bench.NewMemory(readBytes, simd.Best())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	report := &kernels.Report{Machine: bench.ThisMachine(c.Root().Version, simd.Best().String(), 0), ReadBytes: memory.Size(), Rounds: b.rounds}
	meter := &kernels.Meter{Memory: memory.Bytes(), Rounds: b.rounds, Least: b.least}
	status := cli.NewStatus()
	err = b.choice.Each(memory.Bytes(), func(k kernels.Case) error {
		if err := c.Context().Err(); err != nil {
			return err
		}
		status.Show("%d done  %s %s %s", len(report.Results), k.Level, k.Kernel, k.Form)
		report.Results = append(report.Results, meter.Measure(k))
		return nil
	})
	status.Clear()
	switch {
	case c.Context().Err() != nil && len(report.Results) > 0:
		report.Interrupted = true
	case err != nil:
		return err
	case len(report.Results) == 0:
		return errors.New("no kernel matches --kernel, --form and --level together; integer kernels have q8, q4, q4_1, q4_k and q6_k, attention has f32, bf16, f16 and int8")
	}
	report.Notes.If(report.Machine.CacheBytes > report.ReadBytes/4,
		"part of the weights may fit into the CPU caches (%s), so the rates may be too high; raise --read-bytes", units.Bytes(report.Machine.CacheBytes))
	return cli.Print(c, b.asJSON, report, report.WriteText)
}
