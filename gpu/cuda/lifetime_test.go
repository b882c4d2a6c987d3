//go:build cuda

package cuda_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/cudaemu/control"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// faking steers the driver of emulated, and is where its file is.
func faking(t testing.TB) (*control.Driver, string) {
	t.Helper()
	library, err := cudaemu.Build("kernels", cudaemu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fake, err := control.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fake.Set("off"); err != nil {
			t.Error(err)
		}
	})
	return fake, library
}

// life is a model that is loaded often.
var life = gputest.Shape{Name: "life", Vocab: 24, Hidden: 16, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 8, Intermediate: 16, Context: 64, DType: gpu.BF16}

var lifePool = gpu.PoolSpec{PageSize: 4, Pages: 4, DType: gpu.BF16, Rows: 4, StepTokens: 8}

// resources are what exists: in the driver, by its own count and by ours, and goroutines.
func resources(fake *control.Driver) string {
	c := fake.Counts()
	return fmt.Sprintf("%q, %d leaks, %d bytes; open: %v", fake.Open(), c["leaks"], c["bytes"], driver.Live())
}

// settled waits a while until there are no more than some goroutines: a queue's ends after
// Close.
func settled(want int) (n int) {
	deadline := time.After(5 * time.Second)
	for tick := time.Tick(time.Millisecond); ; {
		if n = runtime.NumGoroutine(); n <= want {
			return n
		}
		select {
		case <-tick:
		case <-deadline:
			return n
		}
	}
}

// 200 times a model is loaded, does a step and is closed, with a new device now and then. No
// resource of the driver stays, and no goroutine.
func TestLoadsAndClosesLeaveNothing(t *testing.T) {
	const devices, loads = 20, 10
	fake, library := faking(t)
	p, w := gputest.Build(life, 1)
	goroutines, before := runtime.NumGoroutine(), resources(fake)
	for range devices {
		d, err := cuda.New(cuda.Options{Library: library})
		if err != nil {
			t.Fatal(err)
		}
		empty := resources(fake)
		for i := range loads {
			m, err := gputest.Load(d, p, w, lifePool)
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 { // a second pool
				other := lifePool
				other.DType = gpu.I8
				if err := m.NewPool(gputest.Pool(p, other)); err != nil {
					t.Fatal(err)
				}
			}
			part := gputest.Whole([]int32{1, 2, 3, 4, 5}, []int32{1, 2})
			part.Sample = 1
			if _, err := gputest.Step(m, part); err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			if now := resources(fake); now != empty {
				t.Fatalf("after load %d of the device: %s; before: %s", i, now, empty)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if now := resources(fake); now != before {
		t.Errorf("in the end: %s; at first: %s", now, before)
	}
	if n := settled(goroutines); n > goroutines {
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines, before %d:\n%s", n, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
}

// A load or a pool that fails at any call of the driver leaves nothing either.
func TestFailedLoadsLeaveNothing(t *testing.T) {
	d := emulated(t, cuda.Options{})
	fake, _ := faking(t)
	p, w := gputest.Build(life, 1)
	before, goroutines := resources(fake), runtime.NumGoroutine()
	for _, call := range []string{
		"cuModuleLoadData", "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute", "cuStreamCreate", "cuMemAlloc",
		"cuMemHostAlloc", "cuEventCreate", "cuMemcpyHtoDAsync", "cuEventRecord", "cuEventSynchronize", "cuMemsetD8Async", "cuStreamSynchronize",
	} {
		failed := 0
		for n := 1; ; n *= 2 {
			if err := fake.Set(fmt.Sprintf("off;%s:%d=2", call, n)); err != nil {
				t.Fatal(err)
			}
			m, err := gputest.Load(d, p, w, lifePool)
			if err == nil {
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if now := resources(fake); now != before {
				t.Fatalf("%s fails at its call %d (%v): %s; before: %s", call, n, err, now, before)
			}
			if err == nil { // there are fewer calls
				break
			}
			failed++
		}
		if failed == 0 {
			t.Errorf("a load does not call %s, or ignores that it fails", call)
		}
	}
	if n := settled(goroutines); n > goroutines {
		t.Errorf("%d goroutines, before %d", n, goroutines)
	}
}
