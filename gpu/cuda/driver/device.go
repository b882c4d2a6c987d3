//go:build cuda && cgo && linux && amd64

package driver

import (
	"runtime"
	"sync/atomic"

	"gorgonia.org/cu"
)

// Device is a device with its primary context. See the package's comment for which
// goroutines may use it.
type Device struct {
	description Description
	device      cu.Device
	context     cu.CUContext
	open        [kinds]atomic.Int64
	lost        atomic.Pointer[Error]
	closed      atomic.Bool
}

// Retain makes a device ready for use: it makes its primary context, which takes a second
// and some hundred MiB of the device's memory, locks the calling goroutine to its thread,
// and makes the context current there. A device that Troupe does not support is refused.
// The caller closes it, in the same goroutine.
func Retain(ordinal int) (*Device, error) {
	description, err := Describe(ordinal)
	if err != nil {
		return nil, err
	}
	if err := description.Supported(); err != nil {
		return nil, err
	}
	d := &Device{description: description}
	if d.device, err = cu.GetDevice(ordinal); err != nil {
		return nil, withoutContext(failure(ordinal, codeOf(err), "cuDeviceGet"))
	}
	if d.context, err = d.device.RetainPrimaryCtx(); err != nil {
		return nil, withoutContext(failure(ordinal, codeOf(err), "cuDevicePrimaryCtxRetain"))
	}
	runtime.LockOSThread()
	if err = cu.SetCurrentContext(d.context); err != nil {
		runtime.UnlockOSThread()
		_ = d.device.ReleasePrimaryCtx() // the first error is the cause
		return nil, withoutContext(failure(ordinal, codeOf(err), "cuCtxSetCurrent"))
	}
	devicesMutex.Lock()
	devices[d] = true
	devicesMutex.Unlock()
	return d, nil
}

// Description tells what the device is.
func (d *Device) Description() Description { return d.description }

// Use locks the calling goroutine to its thread and makes the device's context current
// there, so that this goroutine may use the device as well. The result undoes both.
func (d *Device) Use() (done func(), err error) {
	if err := d.usable("cuCtxSetCurrent"); err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	before, err := cu.CurrentContext()
	if err == nil {
		err = cu.SetCurrentContext(d.context)
	}
	if e := d.check("cuCtxSetCurrent", err); e != nil {
		runtime.UnlockOSThread()
		return nil, e
	}
	return func() {
		_ = cu.SetCurrentContext(before) // it was current, so it can be again
		runtime.UnlockOSThread()
	}, nil
}

// Close releases the context, which frees the device's memory if nobody else in the process
// uses the device. It refuses with a list if something on the device is still open, since
// that is a leak. A second Close does nothing.
func (d *Device) Close() error {
	if d == nil || d.closed.Load() {
		return nil
	}
	if list := d.stillOpen(); list != "" {
		return misuse(d.description.Ordinal, "Close", "still open: %s; close them first", list)
	}
	d.closed.Store(true)
	devicesMutex.Lock()
	delete(devices, d)
	devicesMutex.Unlock()
	err := cu.SetCurrentContext(cu.CUContext{})
	if e := cu.Device.ReleasePrimaryCtx(d.device); err == nil {
		err = e
	}
	runtime.UnlockOSThread()
	if e := d.check("cuDevicePrimaryCtxRelease", err); e != nil {
		return e
	}
	return nil
}

// Lost returns the first sticky error of the device, or nil. After it, nothing on the
// device works any more in this process.
func (d *Device) Lost() *Error { return d.lost.Load() }

// Memory returns the bytes of the device's memory that are free, other processes included,
// and all that it has.
func (d *Device) Memory() (free, total int64, err error) {
	if err := d.usable("cuMemGetInfo"); err != nil {
		return 0, 0, err
	}
	free, total, err = cu.MemInfo()
	if e := d.check("cuMemGetInfo", err); e != nil {
		return 0, 0, e
	}
	return free, total, nil
}

// Synchronize waits until the device has done all that was given to it. It returns errors
// of that work.
func (d *Device) Synchronize() error {
	if err := d.usable("cuCtxSynchronize"); err != nil {
		return err
	}
	if e := d.check("cuCtxSynchronize", cu.Synchronize()); e != nil {
		return e
	}
	return nil
}

func (d *Device) usable(call string) error {
	if d.closed.Load() {
		return &Error{Call: call, Device: d.description.Ordinal, Text: "the device is closed", reason: ErrClosed}
	}
	return nil
}

// check turns an error of package cu into an Error; nil stays nil.
func (d *Device) check(call string, err error) *Error {
	if err == nil {
		return nil
	}
	return d.fail(codeOf(err), call)
}

// fail describes a result other than success, and notes if it is the end of the context.
func (d *Device) fail(code int, call string) *Error {
	e := failure(d.description.Ordinal, code, call)
	if e.Sticky {
		d.lost.CompareAndSwap(nil, e)
	}
	return e
}
