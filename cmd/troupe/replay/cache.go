package replay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/lab/cachereplay"
	"github.com/troupe-engine/troupe/lab/trace"
)

// cacheFlags are the flags of `troupe replay --cache-only`.
type cacheFlags struct {
	capacities     []int
	index          string
	history        int
	compare        bool
	byConversation bool
}

func (f *cacheFlags) add(flags *pflag.FlagSet) {
	flags.IntSliceVar(&f.capacities, "capacity", []int{0}, "cache capacity in blocks, comma-separated; 0: unlimited")
	flags.StringVar(&f.index, "index", string(cachereplay.AutoIndex), "data structure of the simulated cache: tree (radix tree, as in the engine), blocks (flat table, for belady and fifo) or auto (what the policy requires)")
	flags.IntVar(&f.history, "eviction-history", cachereplay.DefaultHistory, "number of evicted blocks for which the policies keep the history of uses")
	flags.BoolVar(&f.compare, "compare", false, "add lru and belady, and show how much of the gap between them each policy closes")
	flags.BoolVar(&f.byConversation, "by-conversation", false, "print the distribution of the hit ratios of conversations, each with its own unlimited cache")
}

type cacheRow struct {
	cachereplay.Result
	// GapClosed is the share of the gap between lru and belady at the same capacity;
	// absent if one of them was not replayed or they are equal.
	GapClosed *float64 `json:"gap_closed,omitempty"`
}

func (f *command) runCacheOnly(c *cobra.Command) error {
	if f.cache.byConversation {
		return f.runByConversation(c)
	}
	if f.cache.compare {
		f.evictions = append([]string{"lru"}, append(f.evictions, cachereplay.Belady)...)
	}
	f.cache.capacities, f.evictions = distinct(f.cache.capacities), distinct(f.evictions)
	if err := f.checkCache(); err != nil {
		return err
	}
	replays, err := f.replays(c)
	if err != nil {
		return err
	}
	err = f.each(c, "replaying", func(r *trace.Request) error {
		for _, p := range replays {
			if err := p.Step(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows := make([]cacheRow, len(replays))
	for i, p := range replays {
		if rows[i].Result, err = p.Result(); errors.Is(err, cachereplay.ErrNoBlocks) {
			return fmt.Errorf("--trace %s: %w", f.trace, err)
		} else if err != nil {
			return err
		}
	}
	closeGaps(rows)
	result := map[string]any{"trace": f.trace, "format": f.format, "results": rows}
	return cli.Print(c, f.asJSON, result, func(out io.Writer) error { return printRows(out, rows) })
}

// checkCache refuses values before a long trace is read.
func (f *command) checkCache() error {
	names := cachereplay.Names()
	for _, name := range f.evictions {
		if !slices.Contains(names, name) {
			return cli.UnknownValue("--eviction", fmt.Errorf("%q is not known; use one of %s", name, strings.Join(names, ", ")), name, names)
		}
	}
	if f.cache.history < 1 {
		return fmt.Errorf("--eviction-history is %d; it must be at least 1", f.cache.history)
	}
	return nil
}

// replays returns a cache for each capacity and eviction policy, in this order.
func (f *command) replays(c *cobra.Command) ([]*cachereplay.Replay, error) {
	var all []*cachereplay.Replay
	future := cachereplay.NewFuture()
	for _, capacity := range f.cache.capacities {
		for _, eviction := range f.evictions {
			p, err := cachereplay.New(cachereplay.Options{Eviction: eviction, Capacity: capacity,
				Index: cachereplay.Index(f.cache.index), History: f.cache.history, Future: future})
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	if !slices.Contains(f.evictions, cachereplay.Belady) {
		return all, nil
	}
	if info, err := os.Stat(f.trace); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("--trace %s cannot be read twice, as belady requires; save it to a file, or use other policies", f.trace)
	}
	return all, f.each(c, "reading ahead for belady", func(r *trace.Request) error {
		future.Add(r)
		return nil
	})
}

func closeGaps(rows []cacheRow) {
	at := func(capacity int, eviction string) *cacheRow {
		i := slices.IndexFunc(rows, func(r cacheRow) bool { return r.Capacity == capacity && r.Eviction == eviction })
		if i < 0 {
			return nil
		}
		return &rows[i]
	}
	for i := range rows {
		r := &rows[i]
		lru, belady := at(r.Capacity, "lru"), at(r.Capacity, cachereplay.Belady)
		if lru == nil || belady == nil || belady.Hits <= lru.Hits || r.Eviction == "lru" || r.Eviction == cachereplay.Belady {
			continue
		}
		share := float64(r.Hits-lru.Hits) / float64(belady.Hits-lru.Hits)
		r.GapClosed = &share
	}
}

func printRows(out io.Writer, rows []cacheRow) error {
	var notes []string
	err := cli.Table(tabwriter.AlignRight, func(w io.Writer) {
		fmt.Fprint(w, "capacity\teviction\tindex\thit blocks\tall blocks\tratio\tevicted\tgap closed\t\n")
		for _, r := range rows {
			capacity, gap := fmt.Sprint(r.Capacity), "-"
			if r.Capacity == 0 {
				capacity = "unlimited"
			}
			if r.GapClosed != nil {
				gap = fmt.Sprintf("%.1f %%", *r.GapClosed*100)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%.5f\t%d\t%s\t\n", capacity, r.Eviction, r.Index, r.Hits, r.Blocks, r.HitRatio, r.Evicted, gap)
			if r.Oversized > 0 {
				notes = append(notes, fmt.Sprintf("note: %d of %d requests are larger than the capacity of %d blocks (the first on line %d); only a part of each stays cached\n",
					r.Oversized, r.Requests, r.Capacity, r.OversizedLine))
			}
		}
	})(out)
	if err == nil {
		_, err = io.WriteString(out, strings.Join(distinct(notes), ""))
	}
	return err
}

func (f *command) runByConversation(c *cobra.Command) error {
	conversations, err := cachereplay.NewConversations()
	if err != nil {
		return err
	}
	if err := f.each(c, "replaying", conversations.Step); err != nil {
		return err
	}
	s, err := conversations.Spread()
	if err != nil {
		return fmt.Errorf("--by-conversation: %w", err)
	}
	return cli.Print(c, f.asJSON, s, cli.Table(tabwriter.AlignRight, func(w io.Writer) {
		fmt.Fprint(w, "conversations\tmin\tp25\tmedian\tp75\tmax\tmean\t\n")
		fmt.Fprintf(w, "%d\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t\n", s.Conversations,
			s.Min*100, s.P25*100, s.Median*100, s.P75*100, s.Max*100, s.Mean*100)
	}))
}

func distinct[T comparable](list []T) []T {
	var out []T
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
