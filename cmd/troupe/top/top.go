// Package top is `troupe top`: it shows the state of a running server.
package top

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

func New() *cobra.Command {
	t := &top{}
	c := &cobra.Command{
		Use: "top", Short: "Watch a running server: KV pool, requests, rates, latencies; or the nodes of its cluster", Args: cli.NoArgs,
		Long: "Shows a running server until interrupted. On a terminal it draws a page; elsewhere it writes one line\n" +
			"per interval. Rates and latencies cover the last interval. With --cluster it shows the nodes of the\n" +
			"server's cluster, as `troupe cluster status` does.",
		Example: "  troupe top\n  troupe top --url https://llm.example --interval 5s\n  troupe top --once --json\n  troupe top --cluster",
		RunE: func(c *cobra.Command, _ []string) error {
			if t.interval < remote.MinInterval {
				return fmt.Errorf("--interval is %s; it must be at least %s", t.interval, remote.MinInterval)
			}
			t.out = c.OutOrStdout()
			return t.run(c.Context(), time.Tick(t.interval))
		},
	}
	t.server.AddFlags(c.Flags(), remote.DefaultURL)
	c.Flags().DurationVar(&t.interval, "interval", time.Second, "time between two readings")
	c.Flags().BoolVar(&t.cluster, "cluster", false, "show the nodes of the server's cluster; requires the admin key")
	c.Flags().BoolVar(&t.once, "once", false, "print one snapshot and exit")
	c.Flags().BoolVar(&t.json, "json", false, "print JSON, one snapshot per line; indented with --once")
	return c
}

type top struct {
	server              remote.Server
	interval            time.Duration
	cluster, once, json bool
	out                 io.Writer
}

// reading is what one display shows: a server, or the nodes of a cluster.
type reading interface {
	Screen(width int, colour bool) []string
	Line() string
}

// run shows the server at every tick. Only the first reading must succeed.
func (t *top) run(ctx context.Context, ticks <-chan time.Time) error {
	readings, err := t.watch(ctx, ticks)
	if err != nil {
		return err
	}
	show, end := t.display()
	defer end()
	for v, err := range readings {
		if err == nil || !t.once {
			err = show(v, err)
		}
		if err != nil || t.once {
			return err
		}
	}
	return nil
}

func (t *top) watch(ctx context.Context, ticks <-chan time.Time) (iter.Seq2[reading, error], error) {
	if t.cluster {
		return readings(t.server.WatchCluster(ctx, ticks))
	}
	return readings(t.server.Watch(ctx, ticks))
}

// readings converts the type. With an error there is no reading.
func readings[T reading](all iter.Seq2[T, error], err error) (iter.Seq2[reading, error], error) {
	return func(yield func(reading, error) bool) {
		for one, err := range all {
			r := reading(one)
			if err != nil {
				r = nil
			}
			if !yield(r, err) {
				return
			}
		}
	}, err
}

// display chooses how to show a reading, or its error.
func (t *top) display() (show func(reading, error) error, end func()) {
	file, _ := t.out.(*os.File)
	switch {
	case t.json:
		return t.showJSON, func() {}
	case t.once:
		return func(v reading, _ error) error {
			_, err := fmt.Fprintln(t.out, strings.Join(v.Screen(100, false), "\n"))
			return err
		}, func() {}
	case file == nil || !cli.IsTerminal(file):
		return t.showLine, func() {}
	}
	fmt.Fprint(t.out, "\x1b[?1049h\x1b[?25l") // alternate screen, no cursor
	return func(v reading, err error) error { return t.showScreen(file, v, err) },
		func() { fmt.Fprint(t.out, "\x1b[?25h\x1b[?1049l") }
}

// fault introduces the error of a reading.
func (t *top) fault() string {
	if t.cluster {
		return "cannot read the server's nodes:"
	}
	return "cannot read the server's statistics:"
}

func (t *top) showJSON(v reading, err error) error {
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "troupe:", logtext.Lines(err.Error()))
		return nil
	case t.once:
		return cli.PrintJSON(t.out, v)
	}
	return cli.PrintJSONLine(t.out, v)
}

func (t *top) showLine(v reading, err error) error {
	if err != nil {
		_, err = fmt.Fprintln(t.out, t.fault(), logtext.Escape(err.Error()))
		return err
	}
	_, err = fmt.Fprintln(t.out, v.Line())
	return err
}

// showScreen draws over the previous screen without erasing it, to avoid flicker.
func (t *top) showScreen(file *os.File, v reading, err error) error {
	width, height, sizeErr := term.GetSize(int(file.Fd()))
	if sizeErr != nil || width < 1 || height < 1 {
		width, height = 80, 24
	}
	lines := []string{remote.Clip("troupe top   "+t.server.URL, width), "", t.fault() + " " + logtext.Escape(fmt.Sprint(err)), "", "trying again every " + t.interval.String()}
	if v != nil {
		_, plain := os.LookupEnv("NO_COLOR")
		lines = v.Screen(width, !plain)
	}
	lines = lines[:min(len(lines), height-1)]
	_, err = fmt.Fprint(t.out, "\x1b[H", strings.Join(lines, "\x1b[K\n"), "\x1b[K\n\x1b[J")
	return err
}
