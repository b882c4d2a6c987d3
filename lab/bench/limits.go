package bench

import (
	"fmt"

	"github.com/troupe-engine/troupe/internal/paging"
)

// Limits are what a model and its pool can hold.
type Limits struct {
	Context  int // positions of a sequence
	Pool     int // positions of all sequences together
	Running  int // sequences at once
	PageSize int
}

func (l Limits) Check(t Test) error {
	positions := t.Positions()
	if t.Generate > 0 {
		positions += t.lead()
	}
	pool := paging.Pages(positions, l.PageSize) * l.PageSize * t.Batch
	switch err := t.fits(positions, l.Context); {
	case err != nil:
		return err
	case t.Batch > l.Running:
		return fmt.Errorf("test %s requires %d sequences at the same time, but only %d may run; raise --max-running-requests", t, t.Batch, l.Running)
	case pool > l.Pool:
		return fmt.Errorf("test %s requires a KV pool of %d tokens, but it has %d; raise --mem-fraction-static or --max-total-tokens, or use --kv-cache-dtype int8", t, pool, l.Pool)
	}
	return nil
}

// lead is the number of tokens that a sequence generates besides the timed ones: the
// first one, which comes with the prompt, and some until all of a batch have theirs.
func (t Test) lead() int {
	if t.Batch > 1 {
		return 8
	}
	return 1
}

// fits checks a number of positions against a model's context.
func (t Test) fits(positions, context int) error {
	if positions <= context {
		return nil
	}
	return fmt.Errorf("test %s requires a context of %d tokens, but the model has %d; lower --depth, --prompt or --generate, or raise --context-length", t, positions, context)
}
