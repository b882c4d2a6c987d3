package node

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/messages"
)

// abortGrace is the time limit for the answers of requests that a shutdown aborts.
const abortGrace = 2 * time.Second

func (n *Node) drain(ctx context.Context, api *httpapi.Server) error {
	timeout := n.Config().DrainTimeout
	n.opt.Log.Info().Dur("timeout_ms", timeout).Msg("shutting down; waiting for open requests")
	api.Drain()
	limit, cancel := context.WithTimeoutCause(ctx, timeout, errDrainOver)
	defer cancel()
	err := n.drained(limit)
	if err != nil && limit.Err() == nil { // the engine has given up
		return errors.Join(err, n.abandon(api))
	}
	if errors.Is(err, errDrainOver) {
		n.opt.Log.Warn().Msg("drain-timeout expired; aborting the remaining requests")
		for _, e := range n.fronts() {
			e.Send(&messages.AbortRequests{All: true, ShuttingDown: true})
		}
		limit, cancel = context.WithTimeoutCause(ctx, abortGrace, errDrainOver)
		defer cancel()
		if err = n.drained(limit); errors.Is(err, errDrainOver) {
			err = nil // their clients do not read
		}
	}
	return errors.Join(err, closed(api.Shutdown(limit)))
}

// abandon ends the service of an engine that has given up: clients of open requests get an
// error. In a cluster their requests continue on another node, which notices that this one
// is gone.
func (n *Node) abandon(api *httpapi.Server) error {
	limit, cancel := context.WithTimeoutCause(context.Background(), abortGrace, errDrainOver)
	defer cancel()
	api.Drain() // first, so that no request comes after the others have ended
	if n.cluster != nil {
		cancel()
	} else {
		n.Engine.Send(&messages.AbortRequests{All: true, ShuttingDown: true})
	}
	return closed(api.Shutdown(limit))
}

var errDrainOver = errors.New("drain-timeout expired")

// drained waits until no request is open. It returns the reason if the engine gives up.
func (n *Node) drained(limit context.Context) error {
	done := make(chan error, 1)
	go func() {
		var errs []error
		for _, e := range n.fronts() {
			errs = append(errs, e.Drain(limit))
		}
		done <- errors.Join(errs...)
	}()
	select {
	case err := <-n.Fatal:
		return err
	case err := <-done:
		if err != nil {
			return context.Cause(limit)
		}
		return nil
	}
}

// closed drops the error of a shutdown that had to cut connections.
func closed(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
