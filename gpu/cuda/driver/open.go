//go:build cuda && cgo && linux && amd64

package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// MinimumVersion is the oldest version of the CUDA driver API that Troupe works with: 12.0,
// which comes with NVIDIA's driver 525.
const MinimumVersion = 12000

const libraryName = "libcuda.so.1"

// folders have the library where the system's loader does not look: in containers of
// Kubernetes and of Colab, under WSL, on NixOS.
var folders = []string{"/usr/local/nvidia/lib64", "/usr/lib64-nvidia", "/usr/lib/wsl/lib", "/run/opengl-driver/lib"}

// Options of Open.
type Options struct {
	// Library is the driver's file, for example /opt/nvidia/libcuda.so.1. "": libcuda.so.1
	// as the system's loader finds it, else in the folders where containers, WSL and NixOS
	// have it.
	Library string
}

// opened is the process' driver; its path is "" before Open succeeds.
var (
	openMutex sync.Mutex
	opened    library
)

// Open loads and initialises the driver, which may take seconds. A process has one driver:
// after a success, further calls return nil, or an error if they name another file. After
// an error, Open may be called again. Nothing else in this package works before it.
func Open(o Options) error {
	openMutex.Lock()
	defer openMutex.Unlock()
	if opened.path != "" {
		if o.Library != "" && o.Library != opened.path {
			return misuse(-1, "Open of "+o.Library, "this process uses %s already", opened.path)
		}
		return nil
	}
	l, err := find(places(o.Library), o.remedy())
	if err != nil {
		return err
	}
	l.bind() // already, so that the driver can say what is wrong
	if err := l.begin(o.remedy()); err != nil {
		(&library{}).bind()
		return err
	}
	opened = l
	return nil
}

// remedy is what to do if the library is none.
func (o Options) remedy() string {
	if o.Library != "" {
		return "give the path of " + libraryName + " in cuda-library, or remove the setting"
	}
	return updateDriver + "; in a container, start it with the device (--gpus all)"
}

// begin initialises the driver, and refuses one that is too old. remedy is for a file that is
// no driver.
func (l *library) begin(remedy string) error {
	call := "cuInit of " + l.path
	switch code := l.start(); {
	case code < 0:
		return &Error{Device: -1, Text: l.path + " is not a CUDA driver", Remedy: remedy, reason: ErrNoDriver}
	case code > 0:
		return withoutContext(failure(-1, code, call))
	case l.version < MinimumVersion:
		return &Error{Call: call, Device: -1, Text: "the driver is too old: it is " + version(l.version) + ", and Troupe needs " + version(MinimumVersion),
			Remedy: updateDriver, reason: ErrOldDriver}
	}
	return nil
}

// places lists where the library may be.
func places(file string) []string {
	if file != "" {
		return []string{file}
	}
	list := []string{libraryName}
	for _, folder := range folders {
		list = append(list, filepath.Join(folder, libraryName))
	}
	return list
}

// find loads the library from the first place that has it.
func find(places []string, remedy string) (library, error) {
	var texts []string
	for i, place := range places {
		l, text := load(place)
		if text == "" {
			return l, nil
		}
		// The loader's words matter for the first place and for files that are there but
		// broken.
		if _, err := os.Stat(place); i == 0 || err == nil {
			texts = append(texts, place+": "+strings.TrimPrefix(text, place+": "))
		}
	}
	return library{}, &Error{Device: -1, Text: "cannot load " + strings.Join(texts, "; "), Remedy: remedy, reason: ErrNoDriver}
}

// version formats a version of the API.
func version(v int) string { return fmt.Sprintf("CUDA %d.%d", v/1000, v%1000/10) }
