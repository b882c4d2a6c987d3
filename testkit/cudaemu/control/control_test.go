//go:build cuda

package control

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

// The Go driver over the fake one: a kernel runs, everything is counted, and faults come
// through as errors.
func TestDriverOverTheFake(t *testing.T) {
	library, err := cudaemu.Build("testdata", cudaemu.Options{Header: "../../../gpu/cuda/driver/include"})
	if err != nil {
		t.Skip(err)
	}
	fake, err := Open(library)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(driver.Open(driver.Options{Library: library}))
	for range 3 {
		d, err := driver.Retain(0)
		must(err)
		m, err := d.LoadModule([]byte("// emulation"))
		must(err)
		add, err := m.Function("add_one")
		must(err)
		s, err := d.NewStream()
		must(err)
		memory, err := d.Alloc(4096)
		must(err)
		host, err := d.Pin(4096)
		must(err)
		host.Bytes()[4] = 41
		must(s.Upload(memory, 0, host, 0, 4096))
		must(s.Launch(add, driver.Dim{X: 4}, driver.Dim{X: 256}, 0, []uint64{memory.Address(), 1024}))
		must(s.Download(host, 0, memory, 0, 4096))
		if host.Bytes()[4] != 41 {
			t.Error("the result is there before the wait")
		}
		must(s.Synchronize())
		if host.Bytes()[4] != 42 {
			t.Errorf("the kernel gives %d", host.Bytes()[4])
		}
		if got := fake.Open(); got != "1 contexts, 1 modules, 1 memories, 1 pinned, 1 streams" {
			t.Error("open are", got)
		}
		must(fake.Set("cuMemAlloc:1=2"))
		if _, err := d.Alloc(8); err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY") {
			t.Error("a demanded failure gives", err)
		}
		must(fake.Set("run:add_one:1=700"))
		must(s.Launch(add, driver.Dim{X: 1}, driver.Dim{X: 32}, 0, []uint64{memory.Address(), 1}))
		if err := s.Synchronize(); err == nil || d.Lost() == nil {
			t.Error("a failed kernel gives", err)
		}
		must(fake.Set("off"))
		host.Close()
		memory.Close()
		s.Close()
		m.Close()
		d.Close()
		if got := fake.Open(); got != "" {
			t.Error("left are", got)
		}
	}
	if fake.Counts()["leaks"] != 0 {
		t.Error(fake.Counts())
	}
	if err := fake.Set("cuMemAlloc:none=2"); err == nil || !strings.Contains(err.Error(), "TROUPE_FAKE_CUDA") {
		t.Error("a wrong setting gives", err)
	}
}
