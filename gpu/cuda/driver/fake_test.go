//go:build cuda

package driver

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/cu"
)

var built struct {
	sync.Mutex
	folder string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.folder != "" {
		os.RemoveAll(built.folder)
	}
	os.Exit(code)
}

// fake builds testdata/fake/libcuda.c once for each set of options, and returns the
// library's path.
func fake(t testing.TB, options ...string) string {
	t.Helper()
	return compiled(t, "libcuda.c", options...)
}

func compiled(t testing.TB, source string, options ...string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.folder == "" {
		folder, err := os.MkdirTemp("", "fake-cuda")
		if err != nil {
			t.Fatal(err)
		}
		built.folder = folder
	}
	path := filepath.Join(built.folder, source+strings.Join(options, "")+".so.1")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	arguments := append([]string{"-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-I", "include", "-o", path, filepath.Join("testdata/fake", source)}, options...)
	if out, err := exec.Command("gcc", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return path
}

// start opens a fake driver. At the test's end, nothing may be open or have been closed
// twice.
func start(t testing.TB, options ...string) {
	t.Helper()
	closeDriver()
	if err := Open(Options{Library: fake(t, options...)}); err != nil {
		t.Fatal(err)
	}
	before := counters(t)
	t.Cleanup(func() {
		if live := Live(); len(live) != 0 {
			t.Errorf("still open: %v", live)
		}
		if after := counters(t); !maps.Equal(before, after) {
			t.Errorf("the driver counts %v, before it was %v", after, before)
		}
		closeDriver()
	})
}

// counters are what the fake driver counts.
func counters(t testing.TB) map[string]int {
	t.Helper()
	count := map[string]int{}
	for i, name := range []string{"context", "memory", "pinned", "module", "stream", "event", "graph", "exec"} {
		count[name] = counter(t, 1000+i)
	}
	count["bad handle"] = counter(t, 1100)
	return count
}

func counter(t testing.TB, attribute int) int {
	t.Helper()
	n, err := cu.Device(0).Attribute(cu.DeviceAttribute(attribute))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fail makes calls of the driver fail: "cuMemAlloc_v2=2".
func fail(t *testing.T, demands ...string) {
	t.Helper()
	t.Setenv("FAKE_CUDA_FAIL", strings.Join(demands, ","))
}

func retain(t *testing.T) *Device {
	t.Helper()
	d := must(Retain(0))(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// all is one of each thing on a device.
type all struct {
	d        *Device
	m        *Memory
	p        *Pinned
	module   *Module
	sum      *Function
	s        *Stream
	e        *Event
	g        *Graph
	x        *Exec
	sumOfTwo []uint64 // arguments of sum
}

const kernels = "sum 3\nfault 1\nhang 1\nwide 1\nmany 40\n"

func everything(t testing.TB, d *Device) *all {
	t.Helper()
	a := &all{d: d, m: must(d.Alloc(4096))(t), p: must(d.Pin(4096))(t), module: must(d.LoadModule([]byte(kernels)))(t),
		s: must(d.NewStream())(t), e: must(d.NewEvent(EventOptions{Timing: true, Sleep: true}))(t)}
	a.sum = must(a.module.Function("sum"))(t)
	a.sumOfTwo = []uint64{a.m.Address(), 3, 4}
	must(0, a.s.BeginCapture())(t)
	must(0, a.s.Launch(a.sum, Dim{X: 1}, Dim{X: 1}, 0, a.sumOfTwo))(t)
	a.g = must(a.s.EndCapture())(t)
	a.x = must(a.g.Instantiate())(t)
	return a
}

// close closes everything, in the order of closers.
func (a *all) close(t testing.TB) {
	t.Helper()
	for _, c := range a.closers() {
		if err := c.close(); err != nil {
			t.Errorf("%s: %v", c.symbol, err)
		}
	}
}

type closer struct {
	kind, symbol string
	close        func() error
}

func (a *all) closers() []closer {
	return []closer{
		{"executable graph", "cuGraphExecDestroy", a.x.Close}, {"graph", "cuGraphDestroy", a.g.Close}, {"event", "cuEventDestroy_v2", a.e.Close},
		{"stream", "cuStreamDestroy_v2", a.s.Close}, {"module", "cuModuleUnload", a.module.Close},
		{"pinned buffer", "cuMemFreeHost", a.p.Close}, {"block of memory", "cuMemFree_v2", a.m.Close},
	}
}

type call struct {
	symbol string
	do     func() error
}

// calls are all uses of what is open, by the driver's function that each is about.
func (a *all) calls() []call {
	ignore := func(_ any, err error) error { return err }
	return []call{
		{"cuMemGetInfo_v2", func() error { _, _, err := a.d.Memory(); return err }},
		{"cuCtxSynchronize", a.d.Synchronize},
		{"cuMemAlloc_v2", func() error { return ignore(a.d.Alloc(100)) }},
		{"cuMemHostAlloc", func() error { return ignore(a.d.Pin(100)) }},
		{"cuModuleLoadData", func() error { return ignore(a.d.LoadModule([]byte("sum 3"))) }},
		{"cuStreamCreate", func() error { return ignore(a.d.NewStream()) }},
		{"cuEventCreate", func() error { return ignore(a.d.NewEvent(EventOptions{})) }},
		{"cuModuleGetFunction", func() error { return ignore(a.module.Function("sum")) }},
		{"cuFuncGetAttribute", func() error { return ignore(a.module.Function("sum")) }},
		{"cuFuncGetParamInfo", func() error { return ignore(a.module.Function("sum")) }},
		{"cuFuncSetAttribute", func() error { return a.sum.SetDynamicShared(100_000) }},
		{"cuLaunchKernelEx", func() error { return a.s.Launch(a.sum, Dim{X: 1}, Dim{X: 32}, 0, a.sumOfTwo) }},
		{"cuMemcpyHtoDAsync_v2", func() error { return a.s.Upload(a.m, 0, a.p, 0, 8) }},
		{"cuMemcpyDtoHAsync_v2", func() error { return a.s.Download(a.p, 0, a.m, 0, 8) }},
		{"cuMemcpyDtoDAsync_v2", func() error { return a.s.Copy(a.m, 0, a.m, 8, 8) }},
		{"cuMemsetD8Async", func() error { return a.s.Fill(a.m, 0, 8, 1) }},
		{"cuEventRecord", func() error { return a.s.Record(a.e) }},
		{"cuStreamWaitEvent", func() error { return a.s.Wait(a.e) }},
		{"cuStreamQuery", func() error { return ignore(a.s.Done()) }},
		{"cuStreamSynchronize", a.s.Synchronize},
		{"cuEventQuery", func() error { return ignore(a.e.Done()) }},
		{"cuEventSynchronize", a.e.Synchronize},
		{"cuEventElapsedTime", func() error { return ignore(a.e.Since(a.e)) }},
		{"cuGraphInstantiateWithFlags", func() error { return ignore(a.g.Instantiate()) }},
		{"cuGraphLaunch", func() error { return a.s.LaunchGraph(a.x) }},
		{"cuGraphUpload", func() error { return a.s.UploadGraph(a.x) }},
		{"cuStreamBeginCapture_v2", a.s.BeginCapture},
		{"cuTensorMapEncodeTiled", func() error { return ignore(a.d.EncodeTile(Tile{Sizes: []uint64{64}, Box: []uint32{64}})) }},
	}
}
