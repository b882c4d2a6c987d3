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
	want := Description{Ordinal: 1, Name: "Fake 1", UUID: "GPU-11111111-1111-1111-1111-111111111111",
		Capability: 90, Multiprocessors: 132, SharedPerBlock: 232448, L2: 50 << 20, Memory: 1 << 30, Driver: 12040}
	if err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
	if err := d.Supported(); err != nil {
		t.Error(err)
	}
}

// Without a UUID a device can be used.
func TestNoUUID(t *testing.T) {
	start(t)
	fail(t, "cuDeviceGetUuid=1")
	if d, err := Describe(1); d.Name != "Fake 1" || d.UUID != "" || err != nil {
		t.Errorf("%+v, %v", d, err)
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
	for devices, want := range map[string]string{
		"0": "there is no GPU 7: the driver has none. Check that nvidia-smi lists a device, ",
		"1": "there is no GPU 7: the driver has 1 GPU, cuda:0. `troupe inspect devices` lists the GPUs. CUDA_VISIBLE_DEVICES can hide some",
		"3": "there is no GPU 7: the driver has 3 GPUs, cuda:0 to cuda:2. `troupe inspect devices` ",
	} {
		t.Setenv("FAKE_CUDA_DEVICES", devices)
		if _, err := Retain(7); !errors.Is(err, ErrNoDevice) || !strings.HasPrefix(err.Error(), "CUDA: "+want) {
			t.Errorf("%s devices: %v", devices, err)
		}
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
	for _, symbol := range []string{"cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute",
		"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"} {
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
