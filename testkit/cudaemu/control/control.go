//go:build cuda

package control

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef int (*counts_fn)(uint64_t *, int);
typedef const char *(*text_fn)(void);
typedef const char *(*set_fn)(const char *);

static int control_counts(void *f, uint64_t *out, int n) { return ((counts_fn)f)(out, n); }
static const char *control_text(void *f) { return ((text_fn)f)(); }
static const char *control_set(void *f, const char *text) { return ((set_fn)f)(text); }
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Driver is a loaded fake driver. Its methods may be called by several goroutines.
type Driver struct {
	counts, names, set, failure, check unsafe.Pointer
}

// Open loads the fake driver, or finds it if the process has loaded it already.
func Open(library string) (*Driver, error) {
	path := C.CString(library)
	defer C.free(unsafe.Pointer(path))
	handle := C.dlopen(path, C.RTLD_NOW)
	if handle == nil {
		return nil, fmt.Errorf("loading the fake driver: %s", C.GoString(C.dlerror()))
	}
	d := &Driver{}
	for name, f := range map[string]*unsafe.Pointer{
		"counts": &d.counts, "count_names": &d.names, "set": &d.set, "error": &d.failure, "check": &d.check,
	} {
		symbol := C.CString("troupe_fake_" + name)
		*f = C.dlsym(handle, symbol)
		C.free(unsafe.Pointer(symbol))
		if *f == nil {
			return nil, fmt.Errorf("%s is not the fake driver: it has no troupe_fake_%s", library, name)
		}
	}
	return d, nil
}

// Set changes settings and adds faults, in the form of TROUPE_FAKE_CUDA:
//
//	Set("cuMemAlloc:3=2")         // the third call from now fails
//	Set("run:attention_f32:1=700") // the next run of a kernel fails on the device
//	Set("off;memory=64MiB")       // no faults any more, and less memory
func (d *Driver) Set(text string) error {
	runtime.LockOSThread() // the error's text belongs to the thread
	defer runtime.UnlockOSThread()
	s := C.CString(text)
	defer C.free(unsafe.Pointer(s))
	if e := C.control_set(d.set, s); e != nil {
		return errors.New(C.GoString(e))
	}
	return nil
}

// Counts is how many things exist, by kind: contexts, modules, memories, pinned, streams,
// events, graphs, execs. Then leaks, things that existed when their context ended; calls
// of the driver; runs of kernels; bytes of device memory.
func (d *Driver) Counts() map[string]uint64 {
	var n [32]C.uint64_t
	C.control_counts(d.counts, &n[0], C.int(len(n)))
	m := map[string]uint64{}
	for i, name := range strings.Fields(C.GoString(C.control_text(d.names))) {
		m[name] = uint64(n[i])
	}
	return m
}

// Open lists what exists, "" if there is nothing: "2 memories, 1 stream".
func (d *Driver) Open() string {
	counts := d.Counts()
	var list []string
	for _, kind := range []string{"contexts", "modules", "memories", "pinned", "streams", "events", "graphs", "execs"} {
		if counts[kind] > 0 {
			list = append(list, fmt.Sprintf("%d %s", counts[kind], kind))
		}
	}
	return strings.Join(list, ", ")
}

// Failure is what the emulation said about the last kernel that failed, "" if none did.
func (d *Driver) Failure() string {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return C.GoString(C.control_text(d.failure))
}

// Check returns an error if something was written outside of device or pinned memory.
func (d *Driver) Check() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if e := C.control_text(d.check); e != nil {
		return errors.New(C.GoString(e))
	}
	return nil
}
