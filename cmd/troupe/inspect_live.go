package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/lab/plot"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// maxReadings bounds a recording: one reading is about 2 KiB.
const maxReadings = 1 << 17

// liveMemory is `troupe inspect memory --url`: the memory of a running server.
type liveMemory struct {
	server   remote
	record   time.Duration
	interval time.Duration
	plot     string
	json     bool
	// planFlags are the flags that only a plan has a use for.
	planFlags []string
}

func (l *liveMemory) addFlags(c *cobra.Command) {
	l.server.addFlags(c.Flags(), "")
	c.Flags().DurationVar(&l.record, "record", 0, "with --url: read the server for so long. Example: 60s")
	c.Flags().DurationVar(&l.interval, "interval", time.Second, "with --record: time between two readings")
	c.Flags().StringVar(&l.plot, "plot", "", "with --record: draw memory, latencies and queue into this file, .svg or .png")
}

// check refuses flags that have no effect together.
func (l *liveMemory) check() error {
	switch {
	case l.server.url == "" && (l.record != 0 || l.plot != ""):
		return errors.New("--record and --plot watch a running server; name it with --url")
	case l.server.url == "" && l.server.key+l.server.adminKey != "":
		return errors.New("--api-key and --admin-api-key are keys of a running server; name it with --url")
	case l.plot != "" && l.record == 0:
		return errors.New("--plot draws a recording; say how long with --record, for example 60s")
	case l.record < 0:
		return fmt.Errorf("--record is %s, it must be positive", l.record)
	case l.interval < shortestInterval:
		return fmt.Errorf("--interval is %s, it must be at least %s", l.interval, shortestInterval)
	case l.record > 0 && l.record < l.interval:
		return fmt.Errorf("--record %s is shorter than --interval %s, which gives no reading; record longer", l.record, l.interval)
	case l.record/l.interval > maxReadings:
		return fmt.Errorf("--record %s at --interval %s is %d readings, at most %d are kept; lengthen the interval",
			l.record, l.interval, l.record/l.interval, maxReadings)
	case l.plot != "" && l.record/l.interval < 2:
		return fmt.Errorf("--record %s at --interval %s is less than two readings, which is no curve; record longer", l.record, l.interval)
	case l.plot != "":
		if _, err := plot.FormatOf(l.plot); err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
	}
	return nil
}

func (l *liveMemory) run(c *cobra.Command) error {
	if l.record == 0 {
		s, err := l.server.status(c.Context())
		if err != nil {
			return err
		}
		if l.json {
			return printJSON(c.OutOrStdout(), s.Memory.Stats)
		}
		return printMemory(c.OutOrStdout(), s)
	}
	ticker := time.NewTicker(l.interval)
	defer ticker.Stop()
	return l.watch(c.Context(), c.OutOrStdout(), ticker.C, int(l.record/l.interval))
}

// printMemory is the table of one reading.
func printMemory(out io.Writer, s *status) error {
	m, w := s.Memory.Stats, tabwriter.NewWriter(logtext.NewTerminal(out), 0, 0, 2, ' ', 0)
	perToken := max(1, m.BytesPerToken)
	fmt.Fprintf(w, "%s on %s, up %s, %d pages of %d tokens, %s per token\n", s.Model.ID, s.Device.Name, age(s.Uptime), s.Memory.Pages, s.Memory.PageSize, amount(m.BytesPerToken, "bytes"))
	for _, r := range []struct {
		name  string
		bytes int64
		what  string
	}{
		{"total KV cache", m.Total, ""},
		{"used", m.Used, "running requests hold it: locked + leased"},
		{"  locked", m.Locked, "cached and in use"},
		{"  leased", m.Leased, "private to requests"},
		{"evictable", m.Evictable, "cached, in use by nobody: given up when room is needed"},
		{"free", m.Free, ""},
	} {
		fmt.Fprintf(w, "%s\t%s\t%d tokens\t%.1f %%\t%s\n", r.name, amount(r.bytes, "bytes"), r.bytes/perToken, share(r.bytes, m.Total), r.what)
	}
	fmt.Fprintf(w, "cache hit rate\t%s\t%d of %d tokens\t\t%s\n", percent(m.HitRate), m.HitTokens, m.QueryTokens, m.HitRateOver)
	fmt.Fprintf(w, "radix tree nodes\t%d\t\t\t\n", m.RadixNodes)
	fmt.Fprintf(w, "device memory allocated\t%s\t\t\tmeasured, the sum of:\n", amount(m.Allocated, "bytes"))
	for _, purpose := range slices.Sorted(maps.Keys(m.ByPurpose)) {
		fmt.Fprintf(w, "  %s\t%s\t\t\t\n", purpose, amount(m.ByPurpose[purpose], "bytes"))
	}
	fmt.Fprintf(w, "device memory reserved\t%s\t\t\twith the workspace of the biggest step\n", amount(m.Reserved, "bytes"))
	return w.Flush()
}

// watch takes n readings at the ticks, prints them as they come, and draws
// them. An interrupt or a server that goes away ends it early; what was read
// until then is drawn.
func (l *liveMemory) watch(ctx context.Context, out io.Writer, ticks <-chan time.Time, n int) error {
	before, err := l.server.status(ctx)
	if err != nil {
		return err
	}
	var samples []plot.Sample
	start := time.Now()
	for len(samples) < n && err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-ticks:
		}
		var now *status
		if now, err = l.server.status(ctx); err != nil {
			continue
		}
		v, at := newView(l.server.url, before, now), time.Since(start).Seconds()
		before = now
		samples = append(samples, sampleOf(&v, now, at))
		if l.json {
			err = printJSONLine(out, v)
		} else {
			_, err = fmt.Fprintf(out, "%6.1f s  %s\n", at, v.plain())
		}
	}
	if ctx.Err() != nil {
		err = nil
	}
	if l.plot == "" || len(samples) == 0 {
		return err
	}
	return errors.Join(err, plot.Usage(before.Model.ID+" at "+l.server.url, samples).WriteFile(l.plot))
}

// sampleOf is a view as it is drawn: the pool in pages.
func sampleOf(v *view, s *status, at float64) plot.Sample {
	perPage := float64(max(1, v.Memory.BytesPerToken*s.Memory.PageSize))
	mean := func(l latency) float64 {
		if l.Mean == nil {
			return math.NaN()
		}
		return *l.Mean
	}
	m := &v.Memory
	return plot.Sample{
		Seconds: at, Free: float64(m.Free) / perPage, Evictable: float64(m.Evictable) / perPage,
		Locked: float64(m.Locked) / perPage, Leased: float64(m.Leased) / perPage,
		TTFT: mean(v.TTFT), ITL: mean(v.ITL), Waiting: float64(v.Requests.Waiting), Running: float64(v.Requests.Running),
	}
}
