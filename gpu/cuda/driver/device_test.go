//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestEverythingIsCounted(t *testing.T) {
	start(t)
	d := retain(t)
	a := everything(t, d)
	want := map[string]int{"device": 1, "block of memory": 1, "pinned buffer": 1, "module": 1, "stream": 1, "event": 1, "graph": 1, "executable graph": 1}
	if live := Live(); !maps.Equal(live, want) {
		t.Errorf("open are %v", live)
	}
	second := must(d.Alloc(1))(t)
	err := d.Close()
	if err == nil || !strings.Contains(err.Error(), "still open: 2 blocks of memory, 1 pinned buffer, 1 module, 1 stream, 1 event, 1 graph, 1 executable graph; close them first") {
		t.Errorf("Close: %v", err)
	}
	if _, _, err := d.Memory(); err != nil {
		t.Errorf("after a refused Close: %v", err)
	}
	must(0, second.Close())(t)
	a.close(t)
}

func TestCloseTwice(t *testing.T) {
	start(t)
	d := must(Retain(0))(t)
	a := everything(t, d)
	a.close(t)
	before := counters(t)
	a.close(t)
	if after := counters(t); !maps.Equal(before, after) {
		t.Errorf("the second Close reached the driver: %v, before %v", after, before)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	var none all
	for _, c := range none.closers() {
		if err := c.close(); err != nil {
			t.Errorf("Close of nil: %v", err)
		}
	}
}

// After one thing is closed, each call either works or says ErrClosed, and never reaches the
// driver with the closed handle.
func TestUseAfterClose(t *testing.T) {
	start(t)
	refused := map[string]bool{}
	for i := range (&all{}).closers() {
		d := must(Retain(0))(t)
		a := everything(t, d)
		c := a.closers()[i]
		must(0, c.close())(t)
		for _, call := range a.calls() {
			if made := openedBy(call.symbol); made {
				continue
			}
			err := call.do()
			if call.symbol == "cuStreamBeginCapture_v2" && err == nil {
				err = must(a.s.EndCapture())(t).Close()
			}
			if errors.Is(err, ErrClosed) {
				refused[call.symbol] = true
				if !strings.Contains(err.Error(), "the "+c.kind+" is closed") {
					t.Errorf("%s after Close of the %s: %v", call.symbol, c.kind, err)
				}
			} else if err != nil {
				t.Errorf("%s after Close of the %s: %v", call.symbol, c.kind, err)
			}
		}
		if c.kind == "block of memory" && a.m.Address() != 0 || c.kind == "pinned buffer" && a.p.Bytes() != nil {
			t.Errorf("a closed %s has an address", c.kind)
		}
		a.close(t)
		must(0, d.Close())(t)
		for _, call := range a.calls() {
			if err := call.do(); !errors.Is(err, ErrClosed) {
				t.Errorf("%s after everything is closed: %v", call.symbol, err)
			}
		}
		if _, err := d.Use(); !errors.Is(err, ErrClosed) {
			t.Errorf("Use after Close: %v", err)
		}
		if _, err := a.s.EndCapture(); !errors.Is(err, ErrClosed) {
			t.Errorf("EndCapture after Close: %v", err)
		}
	}
	if len(refused) != 19 {
		t.Errorf("%d calls were refused because one thing was closed: %v", len(refused), refused)
	}
}

// openedBy reports whether the call opens something, which the test would have to close.
func openedBy(symbol string) bool {
	switch symbol {
	case "cuMemAlloc_v2", "cuMemHostAlloc", "cuModuleLoadData", "cuStreamCreate", "cuEventCreate", "cuGraphInstantiateWithFlags":
		return true
	}
	return false
}

// Each call of the driver fails once for a reason that passes: the error has everything,
// nothing leaks, and the next call works.
func TestEachFaultOnce(t *testing.T) {
	start(t)
	d := retain(t)
	a := everything(t, d)
	before := Live()
	for _, c := range a.calls() {
		fail(t, c.symbol+"=2")
		err := c.do()
		fail(t)
		checkFault(t, c.symbol, err, 2, false)
		if !errors.Is(err, ErrMemory) {
			t.Errorf("%s: %v is not ErrMemory", c.symbol, err)
		}
	}
	must(0, a.s.BeginCapture())(t)
	fail(t, "cuStreamEndCapture=901")
	_, err := a.s.EndCapture()
	fail(t)
	checkFault(t, "cuStreamEndCapture", err, 901, false)
	fail(t, "cuCtxGetCurrent=3")
	_, err = d.Use()
	checkFault(t, "cuCtxSetCurrent", err, 3, false)
	for _, c := range a.closers() {
		fail(t, c.symbol+"=201")
		checkFault(t, c.symbol, c.close(), 201, false)
		fail(t)
	}
	if after := Live(); !maps.Equal(before, after) {
		t.Errorf("open are %v, before the faults %v", after, before)
	}
	if d.Lost() != nil {
		t.Errorf("the device is lost: %v", d.Lost())
	}
	a.close(t)
}

func checkFault(t *testing.T, symbol string, err error, code int, sticky bool) {
	t.Helper()
	e := new(Error)
	if !errors.As(err, &e) {
		t.Errorf("%s fails with %d: the error is %v", symbol, code, err)
		return
	}
	if e.Code != code || e.Device != 0 || e.Sticky != sticky || e.Remedy == "" || e.Text == "" || !strings.HasPrefix(symbol, strings.Fields(e.Call)[0]) {
		t.Errorf("%s fails with %d: the error is %+v", symbol, code, e)
	}
}

// A sticky error of any call is noted once; then everything fails with it, and can still
// be closed.
func TestStickyErrors(t *testing.T) {
	start(t)
	for _, c := range (&all{}).calls() {
		t.Run(c.symbol, func(t *testing.T) {
			d := must(Retain(0))(t)
			a := everything(t, d)
			fail(t, c.symbol+"=719")
			for _, again := range a.calls() {
				if again.symbol == c.symbol {
					checkFault(t, c.symbol, again.do(), 719, true)
					break
				}
			}
			fail(t)
			if e := d.Lost(); e == nil || e.Code != 719 || !strings.Contains(e.Remedy, "Restart the process") {
				t.Errorf("the device was lost by %v", e)
			}
			a.close(t)
			must(0, d.Close())(t)
		})
	}
}

// An error of a kernel comes back from a later call.
func TestKernelFault(t *testing.T) {
	start(t)
	d := must(Retain(0))(t)
	a := everything(t, d)
	fault := must(a.module.Function("fault"))(t)
	must(0, a.s.Launch(fault, Dim{X: 1}, Dim{X: 1}, 0, []uint64{700}))(t)
	if d.Lost() != nil {
		t.Error("lost before anybody asked")
	}
	for _, c := range a.calls() {
		if c.symbol == "cuTensorMapEncodeTiled" || c.symbol == "cuModuleGetFunction" || c.symbol == "cuFuncGetAttribute" || c.symbol == "cuFuncGetParamInfo" {
			continue // need no device, or fail at an earlier call
		}
		checkFault(t, c.symbol, c.do(), 700, true)
	}
	for _, c := range a.closers() {
		if err := c.close(); err != nil { // the loss was reported already
			t.Errorf("%s: %v", c.symbol, err)
		}
	}
	if live := Live(); len(live) != 1 {
		t.Errorf("after all was closed, open are %v", live)
	}
	must(0, d.Close())(t)
	a.d = must(Retain(0))(t) // the fake forgives, so that the things can be freed
	a.freeAnyway(t)
	must(0, a.d.Close())(t)
}

// What learns of the loss first reports it, also if that is a Close.
func TestKernelFaultAtClose(t *testing.T) {
	start(t)
	d := must(Retain(0))(t)
	a := everything(t, d)
	must(0, a.s.Launch(must(a.module.Function("fault"))(t), Dim{X: 1}, Dim{X: 1}, 0, []uint64{700}))(t)
	for i, c := range a.closers() {
		if i == 0 {
			checkFault(t, c.symbol, c.close(), 700, true)
		} else if err := c.close(); err != nil {
			t.Errorf("%s: %v", c.symbol, err)
		}
	}
	must(0, d.Close())(t)
	a.d = must(Retain(0))(t)
	a.freeAnyway(t)
	must(0, a.d.Close())(t)
}

func TestCloseFails(t *testing.T) {
	start(t)
	d := must(Retain(0))(t)
	fail(t, "cuDevicePrimaryCtxRelease_v2=719")
	checkFault(t, "cuDevicePrimaryCtxRelease", d.Close(), 719, true)
	fail(t)
	if live := Live(); len(live) != 0 {
		t.Errorf("open are %v", live)
	}
	must(0, d.device.ReleasePrimaryCtx())(t)
}

// A context is current on a thread: another goroutine must call Use.
func TestOtherGoroutine(t *testing.T) {
	start(t)
	d := retain(t)
	done := make(chan error)
	go func() {
		_, err := d.Alloc(1)
		e := new(Error)
		if !errors.As(err, &e) || e.Code != 201 || !strings.Contains(e.Remedy, "report it") {
			done <- fmt.Errorf("without Use: %w", err)
			return
		}
		release, err := d.Use()
		if err != nil {
			done <- err
			return
		}
		m, err := d.Alloc(1)
		if err == nil {
			err = m.Close()
		}
		release()
		if _, e := d.Alloc(1); err == nil && e == nil {
			err = errors.New("Alloc works after the end of Use")
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, _, err := d.Memory(); err != nil {
		t.Error(err)
	}
}

func TestManyLoads(t *testing.T) {
	start(t)
	for range 200 {
		d := must(Retain(0))(t)
		everything(t, d).close(t)
		must(0, d.Close())(t)
	}
}
