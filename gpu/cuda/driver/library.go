//go:build cuda && cgo && linux && amd64

package driver

/*
#cgo CFLAGS: -I${SRCDIR}/include -Wall -Wextra
#cgo LDFLAGS: -L${SRCDIR}/lib -Wl,--as-needed -ldl
#include "library.h"
*/
import "C"

import "unsafe"

// library is an open library of the driver.
type library struct {
	path    string
	version int // of CUDA: 12040 is 12.4
	handle  unsafe.Pointer
}

// load opens a file. The second result is what the loader says if it cannot.
func load(path string) (library, string) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	l := library{path: path}
	if text := C.troupe_cuda_load(name, &l.handle); text != nil {
		defer C.free(unsafe.Pointer(text))
		return l, C.GoString(text)
	}
	return l, ""
}

// start initialises the driver, which takes up to seconds. It returns the driver's result,
// or -1 if the library is not a CUDA driver.
func (l *library) start() int {
	var version C.int
	result := C.troupe_cuda_start(l.handle, &version)
	l.version = int(version)
	return int(result)
}

// bind makes all calls of the API go to this library.
func (l *library) bind() { C.troupe_cuda_bind(l.handle) }

// absentFunction names the function that a result says the driver lacks.
func absentFunction(code int) (name string, absent bool) {
	if code < C.TROUPE_CUDA_ABSENT {
		return "", false
	}
	return C.GoString(C.troupe_cuda_name(C.uint(code - C.TROUPE_CUDA_ABSENT))), true
}

// driverText gives the driver's own name and words for a result, "" if it has none or is
// not open.
func driverText(code int) (name, text string) {
	var s *C.char
	if C.cuGetErrorName(C.CUresult(code), &s) == C.CUDA_SUCCESS && s != nil {
		name = C.GoString(s)
	}
	s = nil
	if C.cuGetErrorString(C.CUresult(code), &s) == C.CUDA_SUCCESS && s != nil {
		text = C.GoString(s)
	}
	return name, text
}
