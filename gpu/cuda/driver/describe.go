//go:build cuda && cgo && linux && amd64

package driver

// #include "library.h"
import "C"

import (
	"fmt"

	"gorgonia.org/cu"

	"github.com/troupe-engine/troupe/internal/units"
)

// MinimumCapability is the oldest compute capability that Troupe has kernels for, as
// major * 10 + minor: 8.0, Ampere.
const MinimumCapability = 80

// Description is what a device is. It does not change while the process runs.
type Description struct {
	Ordinal         int
	Name            string // "NVIDIA H200"
	UUID            string // "GPU-" and 36 characters, as nvidia-smi writes it
	PCIBus          string // "0000:1b:00.0"
	Capability      int    // compute capability as major * 10 + minor: 90 is 9.0
	Multiprocessors int
	SharedPerBlock  int64 // bytes of shared memory that a block can have with Function.SetDynamicShared
	L2              int64 // bytes
	Memory          int64 // bytes, those in use included
	Driver          int   // version of the driver's API: 12040 is CUDA 12.4
}

// Count returns the number of devices. It is 0 or more; CUDA_VISIBLE_DEVICES can hide some.
func Count() (int, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return 0, failure(-1, codeOf(err), "cuDeviceGetCount")
	}
	return n, nil
}

// Describe tells what a device is, by its ordinal in [0, Count). It makes no context, so it
// takes none of the device's memory.
func Describe(ordinal int) (Description, error) {
	d := Description{Ordinal: ordinal, Driver: opened.version}
	q := query{ordinal: ordinal}
	q.ask("cuDeviceGet", func() (err error) { q.device, err = cu.GetDevice(ordinal); return err })
	if e, is := q.err.(*Error); is && e.Code == C.CUDA_ERROR_INVALID_DEVICE {
		if n, err := Count(); err == nil && n > 0 {
			e.Text += fmt.Sprintf("; the driver has %s, counted from 0", units.Count(n, "device"))
		}
	}
	q.ask("cuDeviceGetName", func() (err error) { d.Name, err = q.device.Name(); return err })
	q.ask("cuDeviceGetUuid", func() error {
		id, err := q.device.UUID()
		d.UUID = "GPU-" + id.String()
		return err
	})
	q.ask("cuDeviceTotalMem", func() (err error) { d.Memory, err = q.device.TotalMem(); return err })
	major := q.attribute(cu.ComputeCapabilityMajor)
	d.Capability = 10*major + q.attribute(cu.ComputeCapabilityMinor)
	d.Multiprocessors = q.attribute(cu.MultiprocessorCount)
	d.SharedPerBlock = int64(q.attribute(C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
	d.L2 = int64(q.attribute(cu.L2CacheSize))
	if q.err == nil {
		d.PCIBus, q.err = pciBus(ordinal, q.device)
	}
	if q.err != nil {
		return Description{}, q.err
	}
	return d, nil
}

// query asks a device several things, and stops at the first error.
type query struct {
	ordinal int
	device  cu.Device
	err     error
}

func (q *query) ask(call string, f func() error) {
	if q.err != nil {
		return
	}
	if err := f(); err != nil {
		q.err = withoutContext(failure(q.ordinal, codeOf(err), call))
	}
}

func (q *query) attribute(a cu.DeviceAttribute) (v int) {
	q.ask(fmt.Sprintf("cuDeviceGetAttribute of %d", a), func() (err error) { v, err = q.device.Attribute(a); return err })
	return v
}

// pciBus gives the device's address on the bus, in lower case as Linux writes it.
func pciBus(ordinal int, device cu.Device) (string, error) {
	var text [16]C.char
	if r := C.cuDeviceGetPCIBusId(&text[0], C.int(len(text)), C.CUdevice(device)); r != C.CUDA_SUCCESS {
		return "", withoutContext(failure(ordinal, int(r), "cuDeviceGetPCIBusId"))
	}
	return C.GoString(&text[0]), nil
}

// Supported returns nil if Troupe has kernels for the device, else an error with
// ErrUnsupported.
func (d Description) Supported() error {
	if d.Capability >= MinimumCapability {
		return nil
	}
	return &Error{Call: "use of " + d.Name, Device: d.Ordinal, reason: ErrUnsupported,
		Text:   fmt.Sprintf("its compute capability is %d.%d, and Troupe needs %d.%d", d.Capability/10, d.Capability%10, MinimumCapability/10, MinimumCapability%10),
		Remedy: "use a device of the Ampere architecture (A100, RTX 30) or newer, or the CPU (--device cpu)"}
}
