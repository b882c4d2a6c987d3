// Package web runs the tests of package bench over HTTP, with one streaming client per
// sequence. The figures include the work of the server and of the clients on this machine.
package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/load"
	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/serverapi"
)

type Options struct {
	URL   string                             // of a server that has no other clients
	Base  func(sequence, tokens int) []int32 // what is in a sequence's cache before a test
	Fatal <-chan error                       // receives the reason when the engine fails for good
}

// Clients is a bench.Subject for tests that generate; prompts are measured in the engine.
type Clients struct {
	opt    Options
	client *load.Client
}

func New(o Options) (*Clients, error) {
	base, err := serverapi.ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	c, err := load.NewClient(load.ClientOptions{
		Server: serverapi.Server{Base: base},
		Frame:  wire.FrameOptions{Stream: true, Usage: true, IgnoreEOS: true, Extra: []byte(`{"model":"","seed":1}`)},
	})
	return &Clients{opt: o, client: c}, err
}

func (c *Clients) Prepare(ctx context.Context, t bench.Test) error {
	if t.Depth == 0 {
		return nil
	}
	// One more: a prompt enters the cache with the plan after it at the latest.
	for i := range t.Batch + 1 {
		if r := c.ask(ctx, t.Depth, i, 1, time.Now()); r.Outcome != load.Finished {
			return failure(ctx, r)
		}
	}
	return nil
}

// spare tokens besides the timed ones cover the time until all clients have text.
const spare = 8

// Once implements bench.Subject. The time runs from when every client has text to
// the last text of the first one that ends. A token may bring no text, so a client's
// tokens in that time are estimated from its share of texts in that time.
func (c *Clients) Once(parent context.Context, t bench.Test, _ int) (s bench.Sample, err error) {
	if t.Prompt > 0 {
		return s, errors.New("clients over HTTP measure only generation; use --prompt 0")
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	go func() {
		select {
		case reason := <-c.opt.Fatal:
			cancel(reason)
		case <-ctx.Done():
		}
	}()
	records, start, asked := make([]*load.Record, t.Batch), time.Now(), t.Generate+spare
	var all sync.WaitGroup
	for i := range records {
		all.Go(func() {
			records[i] = c.ask(ctx, max(t.Depth, 1), i, asked, start)
			if r := records[i]; r.Outcome != load.Finished {
				cancel(failure(ctx, r)) // and wait for the others
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	// The time in which all had text.
	begin, end := time.Duration(0), time.Duration(math.MaxInt64)
	for _, r := range records {
		last := r.First
		for _, gap := range r.Gaps {
			last += gap
		}
		begin, end = max(begin, r.First), min(end, last)
	}
	tokens := 0.0
	for _, r := range records {
		at, timed := r.First, 0
		for _, gap := range r.Gaps {
			if at += gap; at >= begin && at <= end {
				timed++
			}
		}
		tokens += float64(asked) * float64(timed) / float64(max(r.Chunks, 1))
	}
	if end < begin || tokens == 0 {
		return s, errors.New("the requests did not all run at the same time: one ended before the last began; raise --max-running-requests or --generate, or lower --batch")
	}
	s.Took, s.Tokens = end-begin, int(math.Round(tokens))
	s.Steps = (s.Tokens + t.Batch/2) / t.Batch
	s.Positions = bench.Decoded(max(t.Depth, 1), s.Steps, t.Batch)
	return s, nil
}

func (c *Clients) ask(ctx context.Context, depth, sequence, tokens int, start time.Time) *load.Record {
	return c.client.Ask(ctx, &wire.Body{IDs: c.opt.Base(sequence, depth), MaxTokens: tokens}, start)
}

func failure(ctx context.Context, r *load.Record) error {
	if r.Outcome == load.CutOff {
		return context.Cause(ctx)
	}
	return fmt.Errorf("a client failed: %s: %s", r.Failure, r.Message)
}
