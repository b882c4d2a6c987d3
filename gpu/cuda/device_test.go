//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// emulated opens the device over the emulation.
func emulated(t testing.TB) cuda.Device {
	t.Helper()
	library, err := cudaemu.Build("kernels", cudaemu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := cuda.New(cuda.Options{Library: library})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestDevice(t *testing.T) { gputest.RunDevice(t, emulated(t)) }
