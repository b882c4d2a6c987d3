//go:build cuda

package cuda

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/internal/units"
)

// lost is an error after which the device does not work any more in this process.
type lost struct{ error }

// Sticky tells the engine to end the process.
func (lost) Sticky() bool { return true }

func (e lost) Unwrap() error { return e.error }

// marked marks an error as lost if the driver says that it is.
func marked(err error) error {
	if e, ok := errors.AsType[*driver.Error](err); ok && e.Sticky {
		return lost{err}
	}
	return err
}

// lacking adds to an error of a full device how much was wanted, and what to do.
func lacking(err error, what string, bytes, free int64, remedy string) error {
	if !errors.Is(err, driver.ErrMemory) {
		return err
	}
	return fmt.Errorf("%s need %s of the device's memory, but only %s are free: %s: %w", what, units.Bytes(bytes), units.Bytes(free), remedy, err)
}

// cannotCompute says how large a step was that failed.
func cannotCompute(sequences int, err error) error {
	return fmt.Errorf("cannot compute %s: %w", units.Count(sequences, "sequence"), err)
}
