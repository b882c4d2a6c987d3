package cpu

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel"
)

// Options configures the device.
type Options struct {
	// Threads is how many goroutines compute a step, the one that runs it
	// included. Zero: GOMAXPROCS. Hard: exactly so many exist per loaded
	// model, though small steps use fewer. Results do not depend on it.
	// Example: 4.
	Threads int
	// InstructionSet forces a level of the kernels: portable, avx2 or avx512.
	// Empty or auto: the best that the processor has. Hard: one that it lacks
	// is refused. Results of levels differ by rounding. Example: "avx2".
	InstructionSet string

	level kernel.Level
}

// maxThreads keeps a mistyped option from starting a million goroutines.
const maxThreads = 1024

func (o *Options) complete() error {
	if o.Threads == 0 {
		o.Threads = min(runtime.GOMAXPROCS(0), maxThreads)
	}
	if o.Threads < 1 || o.Threads > maxThreads {
		return fmt.Errorf("cpu device: threads is %d; it must be 1 to %d, or 0 for one per processor", o.Threads, maxThreads)
	}
	level, err := kernel.ParseLevel(cmp.Or(o.InstructionSet, "auto"))
	if err != nil {
		return fmt.Errorf("cpu device: %w", err)
	}
	o.level = level
	return nil
}
