package gpu

import "errors"

// DeviceError is an error of a device or its driver, and not of a program, of weights or of
// settings.
type DeviceError interface {
	error
	OfDevice() bool
}

// OfDevice reports whether an error is a DeviceError, or has one in its tree.
func OfDevice(err error) bool {
	d, is := errors.AsType[DeviceError](err)
	return is && d.OfDevice()
}
