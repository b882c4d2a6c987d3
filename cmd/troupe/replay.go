package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/lab/trace"
)

// replayFlags are the flags of `troupe replay`.
type replayFlags struct {
	trace, format string
	seed          uint64
	gap           time.Duration
	asJSON        bool

	limit int

	left []string // what the reader of the trace left out

	cacheOnly bool
	cache     cacheReplayFlags
	engine    engineReplayFlags
}

func newReplay() *cobra.Command {
	f := &replayFlags{}
	c := &cobra.Command{
		Use: "replay", Short: "Replay recorded traffic: what would engines have done?", Args: cobra.NoArgs,
		Long: "Replay recorded traffic on virtual time: the engine's real queue, batch former, cache and\n" +
			"allocator run against the cost model of a GPU. docs/simulator.md tells how to read the\n" +
			"results. Prompts share prefixes as the trace says; outputs have the trace's length.\n\n" +
			"With --cache-only, the prefix cache alone: no time passes. Each request's hits are the\n" +
			"blocks of its longest cached prefix, counted before it is inserted; then all its blocks\n" +
			"are used, and blocks are evicted down to the capacity. The ratio is hit blocks / all blocks.\n" +
			"A request with more blocks than the capacity keeps those that the policy likes best.\n\n" +
			"docs/operations.md describes the formats of traces.",
		Example: "  troupe replay --trace conversation_trace.jsonl --format mooncake --gpu h200 --replicas 16 --plot out.svg\n" +
			"  troupe replay --trace conversation_trace.jsonl --format mooncake --cache-only --capacity 1000,10000\n" +
			"  troupe replay --trace conversation_trace.jsonl --format mooncake --cache-only --capacity 5859 --compare\n" +
			"  troupe replay --trace traces.tar.xz --format weka --cache-only --by-conversation",
		RunE: func(c *cobra.Command, _ []string) error {
			if f.limit < 0 {
				return fmt.Errorf("--limit is %d; it must be positive, or 0 for the whole trace", f.limit)
			}
			// After the last line of progress, and once, though a trace may be
			// read twice.
			defer func() {
				for _, note := range distinct(f.left) {
					fmt.Fprintf(c.ErrOrStderr(), "troupe: warning: %s\n", note)
				}
			}()
			if !f.cacheOnly {
				return f.runEngine(c)
			}
			if err := refuseFlags(c, engineFlags, "goes without --cache-only, which has no engine"); err != nil {
				return err
			}
			return f.runCacheOnly(c)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.trace, "trace", "", "file to replay, gzip too; with --format weka also a directory or a .tar.xz")
	flags.StringVar(&f.format, "format", "", "format of the trace: "+strings.Join(trace.Formats(), ", "))
	flags.Uint64Var(&f.seed, "seed", 0, "chooses when the conversations of a weka trace start, and decides for random policies")
	flags.DurationVar(&f.gap, "conversation-gap", trace.DefaultConversationGap, "mean time between the starts of two conversations of a weka trace")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.BoolVar(&f.cacheOnly, "cache-only", false, "replay the prefix cache alone")
	flags.IntVar(&f.limit, "limit", 0, "take so many requests of the trace; 0 is all")
	f.cache.add(flags)
	f.engine.add(flags)
	_ = c.MarkFlagRequired("trace") // fails for unknown flags only
	return c
}

// open opens the trace that the flags name.
func (f *replayFlags) open() (trace.Reader, error) {
	if f.format == "" {
		return nil, fmt.Errorf("--format is missing; give one of %s", strings.Join(trace.Formats(), ", "))
	}
	if f.gap <= 0 {
		return nil, fmt.Errorf("--conversation-gap is %v; it must be above 0, for example %v", f.gap, trace.DefaultConversationGap)
	}
	r, err := trace.OpenWith(f.trace, f.format, trace.Options{Seed: f.seed, ConversationGap: f.gap,
		Warn: func(note string) { f.left = append(f.left, note) }})
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("--trace %s: there is no such file", f.trace)
	}
	if near := configs.Nearest(f.format, trace.Formats()); near != "" && near != f.format {
		return nil, fmt.Errorf("--format: %w; did you mean %s?", err, near)
	}
	return nil, fmt.Errorf("--trace: %w", err)
}

// each hands every request of the trace to step, and shows on a terminal how
// far it is.
func (f *replayFlags) each(c *cobra.Command, doing string, step func(*trace.Request) error) error {
	r, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close()
	show := replayProgress(doing)
	defer show(0, 0)
	for n := 1; f.limit == 0 || n <= f.limit; n++ {
		req, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		if err := step(req); err != nil {
			return fmt.Errorf("--trace: %s: %w", f.trace, err)
		}
		if n%256 == 0 {
			if err := c.Context().Err(); err != nil {
				return err
			}
			show(r.Progress())
		}
	}
	return nil
}

// replayProgress draws one line on a terminal, and clears it at a size of 0.
func replayProgress(doing string) func(read, size int64) {
	if !isTerminal(os.Stderr) {
		return func(int64, int64) {}
	}
	start, shown := time.Now(), int64(-1)
	return func(read, size int64) {
		switch percent := read * 100 / max(size, 1); {
		case size == 0 && shown >= 0:
			fmt.Fprint(os.Stderr, "\r\x1b[K")
		case size > 0 && percent != shown && time.Since(start) > 300*time.Millisecond:
			shown = percent
			fmt.Fprintf(os.Stderr, "\r%s: %3d %% of %s", doing, percent, amount(size, "bytes"))
		}
	}
}
