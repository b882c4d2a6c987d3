//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// emulated opens the device over the emulation.
func emulated(t testing.TB, o cuda.Options) cuda.Device {
	t.Helper()
	library, ordinal, err := cudaemu.Device("kernels")
	if err != nil {
		t.Fatal(err)
	}
	o.Library, o.Ordinal = library, ordinal
	d, err := cuda.New(o)
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

func TestDevice(t *testing.T) { gputest.RunDevice(t, emulated(t, cuda.Options{})) }

// The plain family is exact to float32, so its tolerances are those of gpu/ref.
func TestPlainDevice(t *testing.T) {
	d := emulated(t, cuda.Options{Plain: true})
	for _, checks := range []string{"kv/", "reference/", "weights/"} {
		if failure := gputest.Failure(d, checks); failure != "" {
			t.Error(failure)
		}
	}
}
