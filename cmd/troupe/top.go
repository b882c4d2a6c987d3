package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// shortestInterval bounds how often a server is asked.
const shortestInterval = 10 * time.Millisecond

// defaultURL is where `troupe serve` listens by itself.
const defaultURL = "http://127.0.0.1:30000"

func newTop() *cobra.Command {
	t := &top{}
	c := &cobra.Command{
		Use: "top", Short: "Watch a running server: KV pool, requests, rates, latencies", Args: cobra.NoArgs,
		Long: "Shows a running server, refreshed until it is interrupted. On a terminal it draws a page; elsewhere\n" +
			"it writes a line per interval. Rates and latencies are those of the last interval.",
		Example: "  troupe top\n  troupe top --url https://llm.example --interval 5s\n  troupe top --once --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if t.interval < shortestInterval {
				return fmt.Errorf("--interval is %s, it must be at least %s", t.interval, shortestInterval)
			}
			t.out = c.OutOrStdout()
			ticker := time.NewTicker(t.interval)
			defer ticker.Stop()
			return t.run(c.Context(), ticker.C)
		},
	}
	t.server.addFlags(c.Flags(), defaultURL)
	c.Flags().DurationVar(&t.interval, "interval", time.Second, "time between two readings")
	c.Flags().BoolVar(&t.once, "once", false, "print one view, of one interval, and end")
	c.Flags().BoolVar(&t.json, "json", false, "print views as JSON, one a line unless --once")
	return c
}

// top is one run of the command.
type top struct {
	server     remote
	interval   time.Duration
	once, json bool
	out        io.Writer
}

// run reads the server at every tick. A server that is not there at the
// beginning is an error; one that goes away later is waited for.
func (t *top) run(ctx context.Context, ticks <-chan time.Time) error {
	before, err := t.server.status(ctx)
	if err != nil {
		return err
	}
	show, end := t.display()
	defer end()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
		now, err := t.server.status(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && t.once:
			return err
		case err != nil:
			err = show(nil, err)
		default:
			v := newView(t.server.url, before, now)
			before, err = now, show(&v, nil)
		}
		if err != nil || t.once {
			return err
		}
	}
}

// display chooses the form. The function that it returns shows a view, or why
// there is none.
func (t *top) display() (show func(*view, error) error, end func()) {
	file, _ := t.out.(*os.File)
	switch {
	case t.json:
		return t.showJSON, func() {}
	case t.once:
		return func(v *view, _ error) error {
			_, err := fmt.Fprintln(t.out, strings.Join(v.frame(100, false), "\n"))
			return err
		}, func() {}
	case file == nil || !isTerminal(file):
		return t.showLine, func() {}
	}
	fmt.Fprint(t.out, "\x1b[?1049h\x1b[?25l") // another screen, no cursor
	return func(v *view, err error) error { return t.showPage(file, v, err) },
		func() { fmt.Fprint(t.out, "\x1b[?25h\x1b[?1049l") }
}

func (t *top) showJSON(v *view, err error) error {
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "troupe:", logtext.Lines(err.Error()))
		return nil
	case t.once:
		return printJSON(t.out, v)
	}
	return printJSONLine(t.out, v)
}

func (t *top) showLine(v *view, err error) error {
	if err != nil {
		_, err = fmt.Fprintln(t.out, "no reading:", logtext.Escape(err.Error()))
		return err
	}
	_, err = fmt.Fprintln(t.out, v.plain())
	return err
}

// showPage draws over the page before: nothing is erased that is not written
// again at once, so that nothing flickers.
func (t *top) showPage(file *os.File, v *view, err error) error {
	width, height, sizeErr := term.GetSize(int(file.Fd()))
	if sizeErr != nil || width < 1 || height < 1 {
		width, height = 80, 24
	}
	lines := []string{clip("troupe top   "+t.server.url, width), "", "no reading: " + logtext.Escape(fmt.Sprint(err)), "", "asking again every " + t.interval.String()}
	if v != nil {
		_, plain := os.LookupEnv("NO_COLOR")
		lines = v.frame(width, !plain)
	}
	lines = lines[:min(len(lines), height-1)]
	_, err = fmt.Fprint(t.out, "\x1b[H", strings.Join(lines, "\x1b[K\n"), "\x1b[K\n\x1b[J")
	return err
}
