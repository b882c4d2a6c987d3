//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	switch e := err.(type) {
	case lost:
		return true
	case *driver.Error:
		return e.Sticky
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), sticky)
	case interface{ Unwrap() error }:
		return sticky(e.Unwrap())
	}
	return false
}

// repeated reports whether the driver has one code for a step and again for the stream after
// it: then the context has ended, also if the code is one of a later driver.
func repeated(err, again error) bool {
	first, is := errors.AsType[*driver.Error](err)
	second, too := errors.AsType[*driver.Error](again)
	return is && too && first.Code == second.Code && first.Code != 0
}

// shortage is an error of a device that is full, in other words.
type shortage struct {
	error
	text string
}

func (s shortage) Error() string { return s.text }

func (s shortage) Unwrap() error { return s.error }

// lacking tells of an error of a full device what was wanted, how much is free of its total,
// and what to do.
func lacking(err error, what string, bytes, free, total int64, remedy string) error {
	e, is := errors.AsType[*driver.Error](err)
	if !is || !errors.Is(e, driver.ErrMemory) {
		return err
	}
	call, _, _ := strings.Cut(e.Call, " ")
	on := fmt.Sprintf("CUDA device %d (%s: %s)", e.Device, call, e.Name)
	why := fmt.Sprintf("%s need %s, and %s of %s are free on %s", what, units.Bytes(bytes), units.Bytes(free), units.Bytes(total), on)
	if bytes <= free {
		why = fmt.Sprintf("%s need %s; the driver refused it although %s are free on %s: memory may be fragmented, or limited by MPS or MIG",
			what, units.Bytes(bytes), units.Bytes(free), on)
	}
	return shortage{err, why + ". " + remedy + ", or free memory (nvidia-smi lists who uses it)"}
}

// cannotCompute says how large a step was that failed.
func cannotCompute(sequences int, err error) error {
	return fmt.Errorf("cannot compute %s: %w", units.Count(sequences, "sequence"), err)
}
