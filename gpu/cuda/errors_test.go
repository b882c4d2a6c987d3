//go:build cuda

package cuda

import (
	"errors"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// An error of a full device tells once what was wanted, what is free and what to do.
func TestLacking(t *testing.T) {
	set := faults(t)
	m := loaded(t, Options{}, graphShape, twentyPages)
	var err error
	if e := m.worker.do(func() error {
		set("cuMemAlloc:1=2")
		_, err = m.device.Alloc(100)
		set("off")
		return nil
	}); e != nil || err == nil {
		t.Fatalf("%v, %v", e, err)
	}
	for _, c := range []struct {
		bytes, free int64
		want        string
	}{
		{5 << 30, 3 << 30, "the page tables need 5.00 GiB, and 3.00 GiB of 4.00 GiB are free on CUDA device 0 (cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY). " +
			"Lower context-length, or free memory (nvidia-smi lists who uses it)"},
		{3 << 20, 3 << 30, "the page tables need 3.0 MiB; the driver refused it although 3.00 GiB are free on CUDA device 0 (cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY): " +
			"memory may be fragmented, or limited by MPS or MIG. Lower context-length, or free memory (nvidia-smi lists who uses it)"},
	} {
		got := lacking(err, "the page tables", c.bytes, c.free, 4<<30, "Lower context-length")
		if got.Error() != c.want || !errors.Is(got, driver.ErrMemory) || !gpu.OfDevice(got) {
			t.Errorf("%v\nwant %s", got, c.want)
		}
	}
	if other := errors.New("other"); lacking(other, "", 1, 0, 1, "") != other {
		t.Error("another error is changed")
	}
}
