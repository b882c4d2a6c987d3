//go:build cuda && cgo && linux && amd64

package driver

// #include "library.h"
import "C"

import (
	"fmt"

	"gorgonia.org/cu"
)

// MinimumCapability is the oldest compute capability that Troupe has kernels for, as
// major * 10 + minor: 8.0, Ampere.
const MinimumCapability = 80

// Description is what a device is. It does not change while the process runs.
type Description struct {
	Ordinal         int
	Name            string // "NVIDIA H200"
	UUID            string // "GPU-" and 36 characters, as nvidia-smi writes it; "": the driver does not tell
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
		if n, err := Count(); err == nil {
			return Description{}, noSuch(ordinal, n)
		}
	}
	q.ask("cuDeviceGetName", func() (err error) { d.Name, err = q.device.Name(); return err })
	q.ask("cuDeviceTotalMem", func() (err error) { d.Memory, err = q.device.TotalMem(); return err })
	major := q.attribute(cu.ComputeCapabilityMajor)
	d.Capability = 10*major + q.attribute(cu.ComputeCapabilityMinor)
	d.Multiprocessors = q.attribute(cu.MultiprocessorCount)
	d.SharedPerBlock = int64(q.attribute(C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
	d.L2 = int64(q.attribute(cu.L2CacheSize))
	if q.err != nil {
		return Description{}, q.err
	}
	if id, err := q.device.UUID(); err == nil { // only people read it
		d.UUID = "GPU-" + id.String()
	}
	return d, nil
}

// noSuch refuses the ordinal of a device that the driver does not have among its n.
func noSuch(ordinal, n int) error {
	e := &Error{Device: -1, Code: C.CUDA_ERROR_INVALID_DEVICE, reason: ErrNoDevice, Remedy: seeDevices}
	has := fmt.Sprintf("%d GPUs, cuda:0 to cuda:%d", n, n-1)
	switch n {
	case 0:
		has, e.Remedy = "none", meanings[C.CUDA_ERROR_NO_DEVICE].remedy
	case 1:
		has = "1 GPU, cuda:0"
	}
	e.Text = fmt.Sprintf("there is no GPU %d: the driver has %s", ordinal, has)
	return e
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
