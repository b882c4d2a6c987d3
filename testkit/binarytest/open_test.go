package binarytest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// roomy leaves the pool of the fake driver's small device enough memory.
var roomy = []string{"--mem-fraction-static", "0.8"}

// Where no GPU can be used, auto serves on the CPU and says why in one line, cuda refuses
// with the same reason, and inspect lists it.
func TestFaultsOfADriver(t *testing.T) {
	withCUDA(t)
	const install = "Install NVIDIA's driver 525 (CUDA 12.0) or newer"
	const path = ". Give the path of libcuda.so.1 in cuda-library, or remove the setting"
	folder := t.TempDir()
	absent, text := filepath.Join(folder, "libcuda.so.1"), filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		faults faults
		device string // "": cuda
		want   []string
	}{
		{"no driver", faults{driver: absent}, "", []string{"CUDA: cannot load " + absent + ": cannot open shared object file", path, "cuda-library: flag --cuda-library"}},
		{"not a library", faults{driver: text}, "", []string{"CUDA: cannot load " + text + ": ", path}},
		{"another library", faults{driver: "libm.so.6"}, "", []string{"CUDA: libm.so.6 is not a CUDA driver", path}},
		{"an old driver", faults{fake: "version=11080"}, "", []string{"the driver is too old: it is CUDA 11.8, and Troupe needs CUDA 12.0", install}},
		{"no device", faults{fake: "devices=0"}, "", []string{"CUDA_ERROR_NO_DEVICE", "nvidia-smi", "--gpus all", "CUDA_VISIBLE_DEVICES"}},
		{"another architecture", faults{fake: "arch=7.5"}, "", []string{"its compute capability is 7.5, and Troupe needs 8.0", "A100", "--device cpu"}},
		{"no such device", faults{fake: "devices=1"}, "cuda:7", []string{"CUDA: there is no GPU 7: the driver has 1 GPU, cuda:0. `troupe inspect devices` lists the GPUs. CUDA_VISIBLE_DEVICES can hide some", "device: flag --device"}},
		{"a driver that does not start", faults{fake: "cuInit:1=999"}, "", []string{"cuInit of ", "CUDA_ERROR_UNKNOWN", "modprobe -r nvidia_uvm", "dmesg"}},
		{"no fabric manager", faults{fake: "cuInit:1=802"}, "", []string{"CUDA_ERROR_SYSTEM_NOT_READY", "nvidia-fabricmanager"}},
		{"mixed versions", faults{fake: "cuInit:1=803"}, "", []string{"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "Restart the machine after an update"}},
		{"no version", faults{fake: "cuDriverGetVersion:1=1"}, "", []string{"cuInit of ", "CUDA_ERROR_INVALID_VALUE", "please report it"}},
		{"no handle", faults{fake: "cuDeviceGet:1=1"}, "", []string{"CUDA device 0: cuDeviceGet: ", "please report it"}},
		{"no name", faults{fake: "cuDeviceGetName:1=101"}, "", []string{"CUDA device 0: cuDeviceGetName: ", "`troupe inspect devices` lists the GPUs"}},
		{"no memory size", faults{fake: "cuDeviceTotalMem:1=1"}, "", []string{"CUDA device 0: cuDeviceTotalMem: ", "please report it"}},
		{"no attribute", faults{fake: "cuDeviceGetAttribute:1=1"}, "", []string{"CUDA device 0: cuDeviceGetAttribute of 75: ", "please report it"}},
		{"busy", faults{fake: "cuDevicePrimaryCtxRetain:1=46"}, "", []string{"CUDA_ERROR_DEVICE_UNAVAILABLE", "Another process has the device for itself"}},
		{"no memory for the context", faults{fake: "cuDevicePrimaryCtxRetain:1=2"}, "", []string{"CUDA_ERROR_OUT_OF_MEMORY", "nvidia-smi lists who uses the device's"}},
		{"no context", faults{fake: "cuCtxSetCurrent:1=201"}, "", []string{"CUDA device 0: cuCtxSetCurrent: ", "CUDA_ERROR_INVALID_CONTEXT"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.device == "" {
				s := c.faults.serve(t, "auto")
				chosen := s.line("the device was chosen")
				says(t, chosen, "no GPU can be used: ", c.want[0])
				if text, code := s.complete(t, "2"); text == "" || code != "" {
					t.Errorf("it answers %q, %s", text, code)
				}
				if status := s.stop(t); status != 0 {
					t.Errorf("it ended with status %d:\n%s", status, s.log)
				}
				c.device = "cuda"
			}
			says(t, refused(t, c.faults.command(t, "serve", "--port", "0", "--device", c.device)), c.want...)
		})
	}
}

// If a GPU cannot be used, the next one is tried, unless one was named.
func TestTheFirstGPUThatCanBeUsed(t *testing.T) {
	withCUDA(t)
	f := faults{fake: "devices=3;cuDeviceGetName:1=101;cuDevicePrimaryCtxRetain:1=2", args: roomy}
	for _, device := range []string{"auto", "cuda"} {
		s := f.serve(t, device)
		says(t, s.line("the device was chosen"), "(cuda:2)")
		if status := s.stop(t); status != 0 {
			t.Errorf("it ended with status %d", status)
		}
	}
	says(t, refused(t, f.command(t, "serve", "--port", "0", "--device", "cuda:0")), "CUDA device 0: cuDeviceGetName")
	f.fake = "devices=2;cuDevicePrimaryCtxRetain:*=2"
	says(t, refused(t, f.command(t, "serve", "--port", "0", "--device", "cuda")), "CUDA device 0: cuDevicePrimaryCtxRetain", "; CUDA device 1: cuDevicePrimaryCtxRetain")
}

// Each fault before a device is opened is in the list of devices, and no reason to fail.
func TestFaultsAreListed(t *testing.T) {
	withCUDA(t)
	for _, c := range []struct {
		faults faults
		want   []string
	}{
		{faults{}, []string{"cuda:0", "Emulated GPU 9.0, compute capability 9.0", "256.0 MiB"}},
		{faults{fake: "devices=2;memory=1GiB"}, []string{"cuda:0", "cuda:1", "1.00 GiB"}},
		{faults{fake: "devices=0"}, []string{"cuda ", "CUDA_ERROR_NO_DEVICE"}},
		{faults{fake: "arch=7.5"}, []string{"cuda:0", "cannot be used: CUDA device 0: ", "Troupe needs 8.0"}},
		{faults{fake: "cuDeviceGetCount:1=1"}, []string{"cuda ", "CUDA: cuDeviceGetCount: ", "please report it"}},
		{faults{fake: "devices=2;cuDeviceGetName:2=101"}, []string{"cuda:0", "Emulated GPU", "cuda:1", "unknown device ", "cannot be used: CUDA device 1: cuDeviceGetName"}},
		{faults{fake: "cuDeviceGetUuid:1=1"}, []string{"Emulated GPU 9.0, compute capability 9.0", "256.0 MiB\n"}},
		{faults{driver: "/nowhere/libcuda.so.1"}, []string{"cuda ", "CUDA: cannot load /nowhere/libcuda.so.1"}},
	} {
		out, err := c.faults.command(t, "inspect", "devices").CombinedOutput()
		if err != nil {
			t.Errorf("%+v: %v", c.faults, err)
		}
		for _, w := range append(c.want, "cpu ") {
			if !contains(string(out), w) {
				t.Errorf("%+v: the list does not have %q:\n%s", c.faults, w, out)
			}
		}
	}
}

// For programs, the list has each fact in a field of its own.
func TestListForPrograms(t *testing.T) {
	withCUDA(t)
	out, err := faults{fake: "devices=2;cuDeviceGetName:2=101"}.command(t, "inspect", "devices", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(out, &list); err != nil || len(list) != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	if g := list[1]; g["device"] != "cuda:0" || g["name"] != "Emulated GPU 9.0" || g["compute_capability"] != "9.0" || g["memory_bytes"] != float64(256<<20) ||
		!strings.HasPrefix(g["uuid"].(string), "GPU-") {
		t.Errorf("the GPU is %v", g)
	}
	if g := list[2]; len(g) != 2 || g["device"] != "cuda:1" || !contains(g["fault"].(string), "cuDeviceGetName") {
		t.Errorf("the GPU without a name is %v", g)
	}
}

// On a machine without a driver nothing has to be set.
func TestOnAMachineWithoutADriver(t *testing.T) {
	binary := withCUDA(t)
	if list := must(faults{}.run(t, binary, "inspect", "devices").Output())(t); !contains(string(list), "libcuda.so.1: cannot open shared object file") {
		t.Skipf("this machine has a driver:\n%s", list)
	}
	s := ready(t, faults{}.run(t, binary, "serve", "--port", "0", "--log-format", "json"))
	says(t, s.line("the device was chosen"), "no GPU can be used: CUDA: cannot load libcuda.so.1", "Install NVIDIA's driver")
	if text, code := s.complete(t, "2"); text == "" || code != "" {
		t.Errorf("it answers %q, %s", text, code)
	}
	if status := s.stop(t); status != 0 {
		t.Errorf("it ended with status %d", status)
	}
	says(t, refused(t, faults{}.run(t, binary, "serve", "--port", "0", "--device", "cuda")), "CUDA: cannot load libcuda.so.1", "Install NVIDIA's driver")
}

// The default binary says where CUDA is to be had.
func TestThePlainBinaryAsksForTheOther(t *testing.T) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("the binary is one for linux/amd64")
	}
	binary := plain(t)
	for _, device := range []string{"cuda", "cuda:7"} {
		says(t, refused(t, faults{}.run(t, binary, "serve", "--port", "0", "--device", device)),
			"this binary has no support for CUDA; use the one named troupe-cuda of the release, or build it with make build-cuda (device: flag --device)")
	}
	says(t, refused(t, faults{}.run(t, binary, "serve", "--port", "0", "--device", "gpu")), "it must be auto, cpu, cuda or cuda:N")
}
