// Package replay is `troupe replay`: recorded traffic on simulated engines, or a prefix cache.
package replay

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/lab/cachereplay"
	"github.com/troupe-engine/troupe/lab/trace"
)

type command struct {
	trace, format string
	seed          uint64
	gap           time.Duration
	asJSON        bool

	limit int

	skipped []string // what the reader of the trace skipped

	cacheOnly             bool
	evictions             []string
	cache                 cacheFlags
	engine                engineFlags
	onlyCache, onlyEngine *pflag.FlagSet
}

func New() *cobra.Command {
	f := &command{}
	c := &cobra.Command{
		Use: "replay", Short: "Replay recorded traffic on simulated engines", Args: cli.NoArgs,
		Long: "Replays a trace in virtual time: the engine's real queue, batch former, cache and allocator\n" +
			"run on the cost model of a GPU. Prompts share prefixes as in the trace; outputs have the lengths\n" +
			"of the trace. docs/simulator.md explains the results, docs/operations.md the trace formats.\n\n" +
			"With --cache-only it simulates only the prefix cache, without time. The hits of a request are the\n" +
			"blocks of its longest cached prefix, counted before the request is inserted. Then all its blocks\n" +
			"count as used, and blocks are evicted down to the capacity. The hit ratio is hit blocks / all blocks.\n" +
			"Of a request with more blocks than the capacity only some stay cached, as the policy chooses.\n\n" +
			"A block is the unit in which a trace describes shared prefixes, and the unit of --capacity; the trace sets its\n" +
			"size. A page is the unit of the engines' KV pools (--page-size). The two sizes need not be equal.",
		Example: "  troupe replay --trace conversation_trace.jsonl --format mooncake --gpu h200 --replicas 16 --plot out.svg\n" +
			"  troupe replay --trace conversation_trace.jsonl --format mooncake --cache-only --capacity 1000,10000\n" +
			"  troupe replay --trace conversation_trace.jsonl --format mooncake --cache-only --capacity 5859 --compare\n" +
			"  troupe replay --trace traces.tar.xz --format weka --cache-only --by-conversation",
		RunE: func(c *cobra.Command, _ []string) error {
			if f.trace == "" {
				return errors.New("--trace is missing; give the file of the trace")
			}
			if f.limit < 0 {
				return fmt.Errorf("--limit is %d; it must be at least 1, or 0 for the whole trace", f.limit)
			}
			// After the last status line, and each once: a trace may be read twice.
			defer func() {
				for _, note := range distinct(f.skipped) {
					fmt.Fprintf(c.ErrOrStderr(), "troupe: warning: %s\n", note)
				}
			}()
			if !f.cacheOnly {
				return f.runEngine(c)
			}
			if err := cli.RefuseFlags(f.onlyEngine, "has no effect with --cache-only, which simulates no engine; remove one of the two flags"); err != nil {
				return err
			}
			return f.runCacheOnly(c)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.trace, "trace", "", "trace file, plain or gzip; with --format weka also a directory or a .tar.xz")
	flags.StringVar(&f.format, "format", "", "format of the trace: "+strings.Join(trace.Formats(), ", "))
	flags.Uint64Var(&f.seed, "seed", 0, "seed for the start times of a weka trace's conversations and for random policies")
	flags.DurationVar(&f.gap, "conversation-gap", trace.DefaultConversationGap, "mean time between the starts of conversations in a weka trace")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.BoolVar(&f.cacheOnly, "cache-only", false, "simulate only the prefix cache")
	flags.IntVar(&f.limit, "limit", 0, "replay only the first N requests (0: all)")
	flags.StringSliceVar(&f.evictions, "eviction", []string{"lru"}, "eviction policies, comma-separated: "+strings.Join(cachereplay.Names(), ", ")+
		". All evict only leaves of the radix tree, except fifo, which without --index tree also evicts inner blocks. belady is the "+
		"optimal policy, for comparison: it reads the trace twice and keeps 4 bytes per block")
	f.onlyCache, f.onlyEngine = cli.FlagGroup(c, f.cache.add), cli.FlagGroup(c, f.engine.add)
	return c
}
