//go:build !linux && !darwin && !windows

package cpu

import (
	"errors"

	"github.com/troupe-engine/troupe/gpu"
)

// systemMemory is not known on this system.
func systemMemory() (gpu.Memory, error) {
	return gpu.Memory{}, errors.New("cpu device: cannot determine the available memory on this system; use Linux, macOS or Windows")
}
