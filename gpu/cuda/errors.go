//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/internal/units"
)

// lost is an error after which the device does not work any more in this process.
type lost struct{ error }

// Sticky tells the engine to end the process.
func (lost) Sticky() bool { return true }

func (e lost) Unwrap() error { return e.error }

// marked marks an error as lost if the driver says that it is, of any of the errors that it
// is made of.
func marked(err error) error {
	if sticky(err) {
		return lost{err}
	}
	return err
}

func sticky(err error) bool {
	if e, is := err.(*driver.Error); is {
		return e.Sticky
	}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), sticky)
	case interface{ Unwrap() error }:
		return sticky(e.Unwrap())
	}
	return false
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
