package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/lab/plot"
)

// maxReadings limits a recording: one reading takes about 2 KiB.
const maxReadings = 1 << 17

// liveMemory is `troupe inspect memory --url`: the memory of a running server.
type liveMemory struct {
	server   remote.Server
	record   time.Duration
	interval time.Duration
	plot     string
	json     bool
}

func (l *liveMemory) addFlags(c *cobra.Command) {
	l.server.AddFlags(c.Flags(), "")
	c.Flags().DurationVar(&l.record, "record", 0, "with --url: how long to record. Example: 60s")
	c.Flags().DurationVar(&l.interval, "interval", time.Second, "with --record: time between two readings")
	c.Flags().StringVar(&l.plot, "plot", "", "with --record: draw memory, latencies and queue into this file, .svg or .png")
}

func (l *liveMemory) check() error {
	switch {
	case l.server.URL == "" && (l.record != 0 || l.plot != ""):
		return errors.New("--record and --plot require --url")
	case l.server.URL == "" && l.server.HasKey():
		return errors.New("--api-key and --admin-api-key require --url")
	case l.plot != "" && l.record == 0:
		return errors.New("--plot requires --record, for example --record 60s")
	case l.record < 0:
		return fmt.Errorf("--record is %s; it must be above 0", l.record)
	case l.interval < remote.MinInterval:
		return fmt.Errorf("--interval is %s; it must be at least %s", l.interval, remote.MinInterval)
	case l.record > 0 && l.record < l.interval:
		return fmt.Errorf("--record %s is shorter than --interval %s, so there would be no reading; record longer", l.record, l.interval)
	case l.record/l.interval > maxReadings:
		return fmt.Errorf("--record %s at --interval %s makes %d readings, but at most %d are kept; use a longer interval",
			l.record, l.interval, l.record/l.interval, maxReadings)
	case l.plot != "" && l.record/l.interval < 2:
		return fmt.Errorf("--record %s at --interval %s makes fewer than two readings, too few to draw; record longer", l.record, l.interval)
	case l.plot != "":
		if err := plot.CheckPath(l.plot); err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
	}
	return nil
}

func (l *liveMemory) run(c *cobra.Command) error {
	if l.record == 0 {
		s, err := l.server.Status(c.Context())
		if err != nil {
			return err
		}
		return cli.Print(c, l.json, s.Memory.Stats, s.WriteMemory)
	}
	return l.watch(c.Context(), c.OutOrStdout(), time.Tick(l.interval), int(l.record/l.interval))
}

// watch takes n readings, one per tick, prints each, and draws them at the end. After
// an interrupt or if the server stops, it draws the readings so far.
func (l *liveMemory) watch(ctx context.Context, out io.Writer, ticks <-chan time.Time, n int) error {
	views, err := l.server.Watch(ctx, ticks)
	if err != nil {
		return err
	}
	var samples []plot.Sample
	title, start := "", time.Now()
	for v, failed := range views {
		if err = failed; err != nil {
			break
		}
		at := time.Since(start).Seconds()
		samples, title = append(samples, sampleOf(v, at)), v.Model+" at "+v.URL
		if l.json {
			err = cli.PrintJSONLine(out, v)
		} else {
			_, err = fmt.Fprintf(out, "%6.1f s  %s\n", at, v.Line())
		}
		if err != nil || len(samples) == n {
			break
		}
	}
	if l.plot == "" || len(samples) == 0 {
		return err
	}
	return errors.Join(err, (&plot.Usage{Title: title, Samples: samples}).WriteFile(l.plot))
}

// sampleOf converts a view for the plot, with the pool in pages.
func sampleOf(v *remote.View, at float64) plot.Sample {
	perPage := float64(max(1, v.Memory.BytesPerToken*v.PageSize))
	mean := func(l remote.Latency) float64 {
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
