package node

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
)

// Close stops what Open has started.
func (n *Node) Close(ctx context.Context) error {
	if n.silent { // it may still use everything
		return nil
	}
	if n.stopHash != nil {
		n.stopHash()
	}
	var errs []error
	if n.cluster != nil {
		if n.cluster.discovery != nil {
			n.cluster.discovery.Stop()
		}
		errs = append(errs, n.cluster.Stop(ctx)) // before the engines: requests continue elsewhere
		if n.cluster.stopLooking != nil {
			n.cluster.stopLooking()
		}
	}
	if n.super != nil {
		errs = append(errs, n.super.close(ctx))
	}
	for _, e := range n.engines() {
		if err := e.Stop(ctx); err != nil {
			return err // the device may still compute; the process must end
		}
	}
	for _, m := range n.Models {
		errs = append(errs, m.Close())
	}
	if n.opened.Device != nil {
		errs = append(errs, n.opened.Close())
	}
	if n.Checkpoint != nil {
		errs = append(errs, n.Checkpoint.Close())
	}
	return errors.Join(errs...)
}

// closeLimit is how long the end of the process waits for the device to finish.
const closeLimit = 10 * time.Second

// CloseInTime is Close for a process that ends: ctx may already be cancelled, and a
// device that does not finish is not waited for.
func (n *Node) CloseInTime(ctx context.Context) error { return n.closeWithin(ctx, closeLimit) }

func (n *Node) closeWithin(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, errNotQuiet)
	defer cancel()
	err := n.Close(ctx)
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == errNotQuiet {
		return errNotQuiet
	}
	return err
}

var errNotQuiet = errors.New("the device is still busy with a step; the process ends without waiting for it")

// fronts are the engines that take requests: one, or in a cluster one for each model.
func (n *Node) fronts() (list []*engine.Engine) {
	switch {
	case n.cluster != nil:
		for _, r := range n.cluster.all() {
			list = append(list, r.Engine)
		}
	case n.Engine != nil:
		list = append(list, n.Engine)
	}
	return list
}

// engines are all, those that take requests first.
func (n *Node) engines() []*engine.Engine {
	list := n.fronts()
	if n.core != nil && n.core != n.Engine {
		list = append(list, n.core)
	}
	return list
}
