package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/bench/kernels"
)

// benchKernels is one run of `troupe bench kernels`.
type benchKernels struct {
	levels    []string
	choice    kernels.Choice
	rounds    int
	least     time.Duration
	readBytes string
	asJSON    bool
}

func newBenchKernels() *cobra.Command {
	b := &benchKernels{}
	c := &cobra.Command{
		Use: "kernels", Short: "Measure the inner loops of the CPU device", Args: cobra.NoArgs,
		Long: "Runs products of weights and activations, attention and what works row by row on sizes of a model\n" +
			"of 1.5 billion parameters, by one thread, and prints what was read and computed per second, as shares\n" +
			"of the bandwidth of memory and of the peaks of multiplying that are measured in turns with them.\n" +
			"docs/bench.md tells what each figure means. An interrupt prints what was measured.",
		Example: "  troupe bench kernels\n  troupe bench kernels --level avx2,avx512 --kernel gemm,integer --form q8,q4 --tokens 1,16",
		RunE:    func(c *cobra.Command, _ []string) error { return b.run(c) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&b.levels, "level", nil, "instruction sets: amx, avx512, avx2, portable; by default all that the processor has")
	flags.StringSliceVar(&b.choice.Kinds, "kernel", nil, "kinds: gemm (activations in float32), integer (in int8), attention, small; by default all")
	flags.StringSliceVar(&b.choice.Forms, "form", nil, "forms of weights, and of K and V: f32, bf16, f16, q8, q4, q4_1, q4_k, q6_k, int8; by default all")
	flags.IntSliceVar(&b.choice.Tokens, "tokens", kernels.DefaultTokens, "rows of activations of a product")
	flags.IntVar(&b.rounds, "rounds", 5, "rounds, of which the median counts")
	flags.DurationVar(&b.least, "round-time", 40*time.Millisecond, "processor time that a kernel runs in a round, at least")
	flags.StringVar(&b.readBytes, "read-bytes", "1536MiB", "memory that weights lie in, several times the caches")
	flags.BoolVar(&b.asJSON, "json", false, "print JSON")
	return c
}

// check reads what flags say.
func (b *benchKernels) check() (readBytes int64, err error) {
	for _, name := range b.levels {
		l, err := simd.ParseLevel(name)
		if err != nil {
			return 0, fmt.Errorf("--level: %w", err)
		}
		b.choice.Levels = append(b.choice.Levels, l)
	}
	if b.rounds < 1 {
		return 0, fmt.Errorf("--rounds is %d, it must be at least 1", b.rounds)
	}
	if b.least < time.Microsecond {
		return 0, fmt.Errorf("--round-time is %s, it must be at least 1µs", b.least)
	}
	if readBytes, err = parseBytes(b.readBytes); err != nil {
		return 0, fmt.Errorf("--read-bytes: %w", err)
	}
	if err := b.choice.Check(); err != nil {
		return 0, fmt.Errorf("--kernel, --form or --tokens: %w", err)
	}
	return readBytes, nil
}

func (b *benchKernels) run(c *cobra.Command) (err error) {
	readBytes, err := b.check()
	if err != nil {
		return err
	}
	memory, err := bench.NewMemory(readBytes, simd.Best())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	report := &kernels.Report{Machine: bench.ThisMachine(versionText(), simd.Best().String(), 0), ReadBytes: memory.Size(), Rounds: b.rounds}
	meter := &kernels.Meter{Memory: memory.Bytes(), Rounds: b.rounds, Least: b.least}
	err = b.choice.Each(memory.Bytes(), func(k kernels.Case) error {
		if err := c.Context().Err(); err != nil {
			return err
		}
		if isTerminal(os.Stderr) {
			fmt.Fprintf(os.Stderr, "\r\x1b[K%d done  %s %s %s", len(report.Results), k.Level, k.Kernel, k.Form)
		}
		report.Results = append(report.Results, meter.Measure(k))
		return nil
	})
	clearLine()
	switch {
	case c.Context().Err() != nil && len(report.Results) > 0:
		report.Interrupted = true
	case err != nil:
		return err
	case len(report.Results) == 0:
		return errors.New("--kernel, --form and --level together leave no kernel; integer kernels are of q8, q4, q4_1, q4_k and q6_k, attention of f32, bf16, f16 and int8")
	}
	if report.Machine.CacheBytes > report.ReadBytes/4 {
		report.Notes = append(report.Notes, fmt.Sprintf("caches of %s may hold a part of the weights; raise --read-bytes", amount(report.Machine.CacheBytes, "bytes")))
	}
	if b.asJSON {
		return printJSON(c.OutOrStdout(), report)
	}
	return report.WriteText(c.OutOrStdout())
}
