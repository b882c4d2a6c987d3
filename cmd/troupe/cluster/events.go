package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/lab/serverapi"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

const (
	// quiet is the silence of a server after which it has sent all events that it keeps:
	// a stream has no mark for their end.
	quiet = 500 * time.Millisecond
	// Times between two attempts to connect.
	firstWait, longestWait = 100 * time.Millisecond, 5 * time.Second
	maxEvent               = 1 << 20 // bytes
)

// events follows the events of a cluster.
type events struct {
	view
	after    uint64
	noFollow bool
	pause    func(context.Context, time.Duration) // time.Sleep
}

func newEvents() *cobra.Command {
	e := &events{pause: sleep}
	c := &cobra.Command{
		Use: "events", Short: "Follow what happens: nodes that come and go, epochs, panics, moved requests, actions", Args: cli.NoArgs,
		Long: "Prints the events that the server at --url keeps and then new ones, one per line, until interrupted. If\n" +
			"the connection breaks, it connects again and goes on after the last event. With --json events have\n" +
			"numbers, which count for the node that is asked.",
		Example: "  troupe cluster events\n  troupe cluster events --node engine-1\n  troupe cluster events --no-follow --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return e.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	e.addFlags(c, "print JSON, one event per line")
	c.Flags().Uint64Var(&e.after, "after", 0, "begin after the event with this number; 0: with the oldest that the node keeps")
	c.Flags().BoolVar(&e.noFollow, "no-follow", false, "end after the events that the node keeps")
	return c
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// run prints events until ctx ends. Only the first connection must succeed.
func (e *events) run(ctx context.Context, out, warn io.Writer) error {
	client, err := e.server.Client()
	if err != nil {
		return err
	}
	wait := firstWait
	for connected := false; ; {
		stream, refused, err := e.open(ctx, client)
		if err == nil {
			if connected {
				fmt.Fprintln(warn, "connected again")
			}
			connected, wait = true, firstWait
			err = e.print(stream, out)
			stream.Close()
		}
		var failed *outputError
		switch {
		case ctx.Err() != nil, err == nil && e.noFollow:
			return nil
		case errors.As(err, &failed), err != nil && (!connected || refused):
			return err
		case err == nil:
			err = errors.New("the stream has ended")
		}
		fmt.Fprintf(warn, "%s; connecting again after event %d\n", logtext.Escape(err.Error()), e.after)
		e.pause(ctx, wait)
		wait = min(2*wait, longestWait)
	}
}

// outputError is an event that could not be printed.
type outputError struct{ error }

func (e *events) open(ctx context.Context, client *serverapi.Server) (io.ReadCloser, bool, error) {
	return client.Stream(ctx, "/v1/cluster/events", url.Values{"after": {strconv.FormatUint(e.after, 10)}})
}

// print prints events until the stream ends, or is quiet and only the events that
// were there are wanted.
func (e *events) print(stream io.ReadCloser, out io.Writer) error {
	var over atomic.Bool
	silence := time.AfterFunc(quiet, func() {
		if e.noFollow {
			over.Store(true)
			stream.Close()
		}
	})
	defer silence.Stop()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // a name, a number that is in the event as well, or a comment
		}
		silence.Reset(quiet)
		var event report.Event
		if err := json.Unmarshal(data, &event); err != nil {
			return &outputError{fmt.Errorf("%s is not a Troupe server of this version: an event cannot be read: %w", e.server.URL, err)}
		}
		if event.Kind == "" {
			_, text := serverapi.ErrorOf(data)
			return fmt.Errorf("the server has ended the stream: %s", text)
		}
		if event.Number > 0 {
			e.after = event.Number
		}
		if e.node != "" && event.Node != e.node {
			continue
		}
		if err := e.write(out, &event); err != nil {
			return &outputError{err}
		}
	}
	if over.Load() {
		return nil
	}
	return lines.Err()
}

func (e *events) write(out io.Writer, event *report.Event) error {
	if e.asJSON {
		return cli.PrintJSONLine(out, event)
	}
	text := logtext.Escape(event.Text)
	if event.Operator != "" {
		text += " (by " + logtext.Escape(event.Operator) + ")"
	}
	_, err := fmt.Fprintf(out, "%s  %-12s %-8s %s\n", event.At.Local().Format("2006-01-02 15:04:05.000"), remote.Cell(event.Node), remote.Cell(event.Kind), text)
	return err
}
