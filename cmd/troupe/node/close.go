package node

import (
	"context"
	"errors"
	"time"
)

// Close stops what Open has started.
func (n *Node) Close(ctx context.Context) error {
	if n.stopHash != nil {
		n.stopHash()
	}
	var errs []error
	if n.Engine != nil {
		if err := n.Engine.Stop(ctx); err != nil {
			return err // the device may still compute; the process must end
		}
	}
	for _, m := range n.Models {
		errs = append(errs, m.Close())
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
