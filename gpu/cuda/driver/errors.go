//go:build cuda && cgo && linux && amd64

package driver

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gorgonia.org/cu"
)

// Reasons, for errors.Is.
var (
	ErrNoDriver    = errors.New("there is no CUDA driver")
	ErrOldDriver   = errors.New("the CUDA driver is too old")
	ErrNoDevice    = errors.New("there is no CUDA device that can be used")
	ErrUnsupported = errors.New("the CUDA device is not supported")
	ErrMemory      = errors.New("memory is exhausted") // of the device, or pinned memory of the host
	ErrClosed      = errors.New("used after Close")
)

// Error is a call that failed, or a driver or device that cannot be used.
type Error struct {
	Call   string // the driver's function and its object: "cuMemAlloc of 2.00 GiB"; "": Text says all
	Code   int    // the driver's result; 0 if the failure is not the driver's
	Name   string // of the result: "CUDA_ERROR_OUT_OF_MEMORY"; "" if Code is 0
	Text   string // what happened
	Device int    // ordinal; -1: no particular one
	// Sticky says that the device's context is unusable from now on: each further call of
	// this process fails, so the process must end.
	Sticky bool
	Remedy string // what to do, without a full stop at the end
	reason error  // one of Err…, or nil
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("CUDA")
	if e.Device >= 0 {
		fmt.Fprintf(&b, " device %d", e.Device)
	}
	if e.Call != "" {
		b.WriteString(": " + e.Call)
	}
	b.WriteString(": " + e.Text)
	if e.Name != "" {
		fmt.Fprintf(&b, " (%s)", e.Name)
	}
	if e.Remedy != "" {
		b.WriteString(". " + strings.ToUpper(e.Remedy[:1]) + e.Remedy[1:])
	}
	return b.String()
}

// OfDevice implements gpu.DeviceError.
func (e *Error) OfDevice() bool { return true }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.reason }

// codeOf gives the driver's result in an error of package cu, whose type is not exported.
func codeOf(err error) int {
	if v := reflect.ValueOf(err); v.CanInt() {
		return int(v.Int())
	}
	return int(cu.Unknown)
}

// failure describes a result of the driver other than success.
func failure(device, code int, call string) *Error {
	e := &Error{Call: call, Code: code, Device: device}
	if name, absent := absentFunction(code); absent {
		e.Code, e.Name = int(cu.NotFound), ""
		e.Text = fmt.Sprintf("the driver, %s, has no function %s", version(opened.version), name)
		e.Remedy, e.reason = updateDriver, ErrOldDriver
		return e
	}
	e.Name, e.Text = driverText(code)
	m, known := meanings[code]
	if !known {
		m.remedy = unexplained
	}
	if e.Name == "" {
		if e.Name = m.name; !known {
			e.Name = fmt.Sprintf("result %d", code)
		}
	}
	if e.Text == "" {
		e.Text = "the driver refused the call"
	}
	e.Sticky, e.Remedy, e.reason = m.sticky, m.remedy, m.reason
	if e.Sticky {
		e.Remedy += ". Restart the process, which cannot use the device any more"
	}
	return e
}

// withoutContext is an error of a call before there is a context, which none can end.
func withoutContext(e *Error) error {
	m := meanings[e.Code]
	if e.Sticky {
		e.Sticky, e.Remedy = false, m.remedy
	}
	if m.early != "" {
		e.Remedy = m.early
	}
	return e
}

// misuse describes a call that this package refuses itself.
func misuse(device int, call, text string, args ...any) *Error {
	return &Error{Call: call, Device: device, Text: fmt.Sprintf(text, args...)}
}
