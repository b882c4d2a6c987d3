//go:build cuda

package driver

import (
	"errors"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	start(t)
	if n, err := Count(); n != 2 || err != nil {
		t.Errorf("%d devices, %v", n, err)
	}
	d, err := Describe(1)
	want := Description{Ordinal: 1, Name: "Fake 1", UUID: "GPU-11111111-1111-1111-1111-111111111111", PCIBus: "0000:1b:00.0",
		Capability: 90, Multiprocessors: 132, SharedPerBlock: 232448, L2: 50 << 20, Memory: 1 << 30, Driver: 12040}
	if err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
	if err := d.Supported(); err != nil {
		t.Error(err)
	}
}

func TestNoDevices(t *testing.T) {
	start(t)
	t.Setenv("FAKE_CUDA_DEVICES", "0")
	if n, err := Count(); n != 0 || err != nil {
		t.Errorf("%d devices, %v", n, err)
	}
	for _, ordinal := range []int{-1, 0, 7} {
		if _, err := Retain(ordinal); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "nvidia-smi") {
			t.Errorf("device %d: %v", ordinal, err)
		}
	}
}

func TestNumberOfNoDevice(t *testing.T) {
	start(t)
	if _, err := Retain(7); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "CUDA device 7: cuDeviceGet: the driver's words; the driver has 2 devices, counted from 0 (NAME); use one of") {
		t.Error(err)
	}
}

func TestUnsupportedDevice(t *testing.T) {
	start(t)
	t.Setenv("FAKE_CUDA_CAPABILITY", "75")
	_, err := Retain(0)
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "Fake 0: its compute capability is 7.5, and Troupe needs 8.0") {
		t.Error(err)
	}
}

// Each call on the way to a device fails once. Nothing stays, and no error is sticky, since
// there is no context yet.
func TestRetainFails(t *testing.T) {
	start(t)
	for _, symbol := range []string{"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute",
		"cuDeviceGetPCIBusId", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"} {
		for code, reason := range map[string]error{"2": ErrMemory, "46": ErrNoDevice} {
			fail(t, symbol+"="+code)
			d, err := Retain(0)
			fail(t)
			e := new(Error)
			if d != nil || !errors.As(err, &e) || !errors.Is(err, reason) || e.Sticky || e.Device != 0 || !strings.Contains(symbol, strings.Fields(e.Call)[0]) {
				t.Errorf("%s fails with %s: %v", symbol, code, err)
			}
		}
	}
	fail(t, "cuDeviceGetCount=100")
	if _, err := Count(); !errors.Is(err, ErrNoDevice) {
		t.Error(err)
	}
}
