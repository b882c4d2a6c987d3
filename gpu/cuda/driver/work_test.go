//go:build cuda

package driver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"gorgonia.org/cu"
)

// freeAnyway frees in the fake driver what a lost device could not.
func (a *all) freeAnyway(t *testing.T) {
	t.Helper()
	for _, h := range []*handle{&a.x.handle, &a.g.handle, &a.e.handle, &a.s.handle, &a.module.handle, &a.p.handle, &a.m.handle} {
		a.d.adopt(h, h.kind)
		h.closed.Store(false)
	}
	a.close(t)
}

func TestCopies(t *testing.T) {
	start(t)
	d := retain(t)
	a := everything(t, d)
	copy(a.p.Bytes(), "0123456789")
	must(0, a.s.Fill(a.m, 0, 4096, '.'))(t)
	must(0, a.s.Upload(a.m, 3, a.p, 2, 4))(t)
	must(0, a.s.Copy(a.m, 10, a.m, 4, 2))(t)
	must(0, a.s.Download(a.p, 100, a.m, 0, 14))(t)
	must(0, a.s.Synchronize())(t)
	if have := string(a.p.Bytes()[99:116]); have != "\x00...2345...34..\x00\x00" {
		t.Errorf("the copies gave %q", have)
	}
	if len(a.p.Bytes()) != 4096 || a.m.Size() != 4096 {
		t.Error("wrong sizes")
	}
	a.close(t)
}

// No copy gets past the ends of its blocks.
func TestCopiesOutOfBounds(t *testing.T) {
	start(t)
	d := retain(t)
	a := everything(t, d)
	for _, c := range []struct {
		at, n int64
		ok    bool
	}{
		{0, 4096, true}, {4096, 0, true}, {4095, 1, true}, {0, 0, true},
		{0, 4097, false}, {4096, 1, false}, {-1, 1, false}, {0, -1, false}, {4097, 0, false}, {1, math.MaxInt64, false}, {math.MaxInt64, math.MaxInt64, false},
	} {
		for name, err := range map[string]error{
			"Upload to":     a.s.Upload(a.m, c.at, a.p, 0, c.n),
			"Download from": a.s.Download(a.p, 0, a.m, c.at, c.n),
			"Fill":          a.s.Fill(a.m, c.at, c.n, 0),
			"Copy":          a.s.Copy(a.m, c.at, a.m, c.at, c.n),
			"Download to":   a.s.Download(a.p, c.at, a.m, c.at, c.n),
			"Upload from":   a.s.Upload(a.m, c.at, a.p, c.at, c.n),
		} {
			if (err == nil) != c.ok {
				t.Errorf("%s, %d bytes at %d: %v", name, c.n, c.at, err)
			}
		}
	}
	a.close(t)
}

func TestSizes(t *testing.T) {
	start(t)
	d := retain(t)
	for _, size := range []int64{0, -1, math.MinInt64} {
		if _, err := d.Alloc(size); err == nil {
			t.Errorf("Alloc of %d bytes works", size)
		}
		if _, err := d.Pin(size); err == nil {
			t.Errorf("Pin of %d bytes works", size)
		}
	}
	fail(t, "cuMemAlloc_v2=2", "cuMemHostAlloc=2")
	if _, err := d.Alloc(3 << 30); !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "cuMemAlloc of 3.00 GiB: the driver's words: 768.0 MiB of 1.00 GiB are free") {
		t.Error(err)
	}
	if _, err := d.Pin(3 << 30); !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "memory of the host") {
		t.Error(err)
	}
	fail(t)
	if free, total, err := d.Memory(); free != 3<<28 || total != 1<<30 || err != nil {
		t.Error(free, total, err)
	}
}

func TestFunctions(t *testing.T) {
	start(t)
	d := retain(t)
	a := everything(t, d)
	if have, want := a.sum.Attributes(), (Attributes{Registers: 104, Local: 103, Shared: 101, MaxThreads: 100, Architecture: 106, Parameters: 3}); have != want {
		t.Errorf("the attributes are %+v", have)
	}
	if a.sum.Name() != "sum" {
		t.Error(a.sum.Name())
	}
	for name, want := range map[string]string{
		"absent": "cuModuleGetFunction of absent: the driver's words (NAME). The program is damaged",
		"wide":   "wide: the kernel has 1 parameters, the largest of 128 bytes; at most 32 of 8 bytes are allowed",
		"many":   "many: the kernel has 40 parameters, the largest of 8 bytes; at most 32 of 8 bytes are allowed",
	} {
		if _, err := a.module.Function(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.sum.SetDynamicShared(232448); err != nil {
		t.Error(err)
	}
	if err := a.sum.SetDynamicShared(232449); err == nil || !strings.Contains(err.Error(), "232449 bytes of dynamic and 101 of static shared memory are more than a block can have, 232448") {
		t.Error(err)
	}
	if _, err := d.LoadModule(nil); err == nil {
		t.Error("an empty image is loaded")
	}
	a.close(t)
}

func TestLaunch(t *testing.T) {
	start(t)
	d := retain(t)
	a := everything(t, d)
	must(0, a.s.Launch(a.sum, Dim{X: 1}, Dim{X: 1024}, 48<<10, []uint64{a.m.Address() + 8, 1 << 63, 5}))(t)
	if have := a.word(t, 8); have != 1<<63+5 {
		t.Errorf("the kernel got %x", have)
	}
	for name, err := range map[string]error{
		"2 arguments for 3 parameters":                                a.s.Launch(a.sum, Dim{X: 1}, Dim{X: 1}, 0, a.sumOfTwo[:2]),
		"0 arguments for 3 parameters":                                a.s.Launch(a.sum, Dim{X: 1}, Dim{X: 1}, 0, nil),
		"33 arguments for 3 parameters":                               a.s.Launch(a.sum, Dim{X: 1}, Dim{X: 1}, 0, make([]uint64, 33)),
		"of sum, grid {0 0 0}, block {1 0 0}, 0 bytes":                a.s.Launch(a.sum, Dim{}, Dim{X: 1}, 0, a.sumOfTwo),
		"of sum, grid {1 0 0}, block {1025 1 1}, 7 bytes of shared m": a.s.Launch(a.sum, Dim{X: 1}, Dim{1025, 1, 1}, 7, a.sumOfTwo),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a.close(t)
}

// word synchronizes and reads 8 bytes of the device's memory.
func (a *all) word(t *testing.T, at int64) uint64 {
	t.Helper()
	must(0, a.s.Download(a.p, 0, a.m, at, 8))(t)
	must(0, a.s.Synchronize())(t)
	return binary.LittleEndian.Uint64(a.p.Bytes())
}

// An old driver lacks functions: what needs them says so, the rest works.
func TestFunctionsThatTheDriverLacks(t *testing.T) {
	start(t, "-DOLD")
	d := retain(t)
	a := everything(t, d)
	for symbol, err := range map[string]error{
		"cuGraphUpload":          a.s.UploadGraph(a.x),
		"cuTensorMapEncodeTiled": func() error { _, err := d.EncodeTile(Tile{Sizes: []uint64{1}, Box: []uint32{1}}); return err }(),
		"cuCtxGetFlags":          func() error { _, err := cu.CurrentFlags(); return d.check("cuCtxGetFlags", err) }(),
	} {
		if !errors.Is(err, ErrOldDriver) || !strings.Contains(err.Error(), "the driver, CUDA 12.4, has no function "+symbol+". Install NVIDIA's driver") {
			t.Errorf("%s: %v", symbol, err)
		}
	}
	if n := a.sum.Attributes().Parameters; n != -1 {
		t.Errorf("sum has %d parameters, though the driver cannot tell", n)
	}
	// Too few arguments: the kernel gets zeros.
	must(0, a.s.Launch(a.sum, Dim{X: 1}, Dim{X: 1}, 0, []uint64{a.m.Address(), 9}))(t)
	if have := a.word(t, 0); have != 9 {
		t.Errorf("the kernel got %d", have)
	}
	if err := a.s.Launch(a.sum, Dim{X: 1}, Dim{X: 1}, 0, make([]uint64, 33)); err == nil || !strings.Contains(err.Error(), "33 arguments; at most 32 are allowed") {
		t.Error(err)
	}
	a.close(t)
}

func TestTwoDevices(t *testing.T) {
	start(t)
	first := retain(t)
	a := everything(t, first)
	done := make(chan bool)
	go func() {
		defer close(done)
		second, err := Retain(1)
		if err != nil {
			t.Error(err)
			return
		}
		b := everything(t, second)
		for name, err := range map[string]error{
			"Launch":      b.s.Launch(a.sum, Dim{X: 1}, Dim{X: 1}, 0, a.sumOfTwo),
			"LaunchGraph": b.s.LaunchGraph(a.x),
			"UploadGraph": b.s.UploadGraph(a.x),
			"Upload":      b.s.Upload(a.m, 0, b.p, 0, 1),
			"Download":    b.s.Download(b.p, 0, a.m, 0, 1),
			"Copy":        b.s.Copy(b.m, 0, a.m, 0, 1),
		} {
			if err == nil || !strings.Contains(err.Error(), "CUDA device 1: ") || !strings.Contains(err.Error(), "device") {
				t.Errorf("%s across devices: %v", name, err)
			}
		}
		b.close(t)
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}()
	<-done
	a.close(t)
}

func TestStreamsAndEvents(t *testing.T) {
	start(t)
	d := retain(t)
	a := everything(t, d)
	hang := must(a.module.Function("hang"))(t)
	launch := func(on uint64) {
		must(0, a.s.Launch(hang, Dim{X: 1}, Dim{X: 1}, 0, []uint64{on}))(t)
		must(0, a.s.Record(a.e))(t)
	}
	for _, hanging := range []uint64{0, 1, 0} {
		launch(hanging)
		if done, err := a.s.Done(); done == (hanging == 1) || err != nil {
			t.Errorf("the stream is done: %v, %v", done, err)
		}
		if done, err := a.e.Done(); done == (hanging == 1) || err != nil {
			t.Errorf("the event is done: %v, %v", done, err)
		}
	}
	if took, err := a.e.Since(a.e); took != 1500*time.Microsecond || err != nil {
		t.Errorf("it took %v, %v", took, err)
	}
	a.close(t)
}

func TestGraph(t *testing.T) {
	start(t)
	d := retain(t)
	a := everything(t, d)
	if have := a.word(t, 0); have != math.MaxUint64 {
		t.Errorf("the capture ran: %x", have)
	}
	must(0, a.g.Close())(t)
	must(0, a.s.UploadGraph(a.x))(t)
	must(0, a.s.LaunchGraph(a.x))(t)
	if have := a.word(t, 0); have != 7 {
		t.Errorf("the graph gave %d", have)
	}
	must(0, a.s.BeginCapture())(t)
	if err := a.s.BeginCapture(); err == nil {
		t.Error("a capture in a capture works")
	}
	if err := a.s.Synchronize(); err == nil || !strings.Contains(err.Error(), "fault of Troupe") {
		t.Errorf("waiting in a capture: %v", err)
	}
	must(0, must(a.s.EndCapture())(t).Close())(t)
	a.close(t)
}

func TestTile(t *testing.T) {
	start(t)
	d := retain(t)
	have, err := d.EncodeTile(Tile{Type: BFloat16Elements, Address: 4096, Sizes: []uint64{512, 100}, Strides: []uint64{1024}, Box: []uint32{64, 128}, Swizzle: 128})
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for _, v := range []uint64{9, 2, 4096, 3, 0, 612_064, 1_024_200_128} {
		binary.Write(&want, binary.LittleEndian, v)
	}
	if !bytes.Equal(have[:want.Len()], want.Bytes()) {
		t.Errorf("encoded is %v", have)
	}
	for _, bad := range []Tile{
		{}, {Sizes: make([]uint64, 6), Strides: make([]uint64, 5), Box: make([]uint32, 6)},
		{Sizes: make([]uint64, 2), Box: make([]uint32, 2)}, {Sizes: make([]uint64, 1), Box: make([]uint32, 2)},
		{Sizes: make([]uint64, 1), Box: make([]uint32, 1), Swizzle: 16},
	} {
		if _, err := d.EncodeTile(bad); err == nil {
			t.Errorf("%+v is encoded", bad)
		}
	}
}

// What a step calls allocates nothing.
func TestStepAllocatesNothing(t *testing.T) {
	start(t)
	d := retain(t)
	a := everything(t, d)
	arguments := []uint64{a.m.Address(), 3, 4}
	step := func() {
		var local [3]uint64
		copy(local[:], arguments)
		for _, err := range [...]error{
			a.s.Upload(a.m, 0, a.p, 0, 64), a.s.Launch(a.sum, Dim{X: 7, Y: 2}, Dim{X: 256}, 1024, local[:]), a.s.LaunchGraph(a.x),
			a.s.Download(a.p, 0, a.m, 0, 64), a.s.Record(a.e), a.s.Wait(a.e), a.e.Synchronize(), a.s.Fill(a.m, 0, 8, 0), a.s.Copy(a.m, 0, a.m, 64, 8),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if done, err := a.e.Done(); !done || err != nil {
			t.Fatal(done, err)
		}
	}
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
	a.close(t)
}
