//go:build cuda

package driver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenRefuses(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.so.1")
	if err := os.WriteFile(broken, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := fake(t)
	for _, c := range []struct {
		name, file       string
		init, setting    string
		reason           error
		code             int
		text, mustRemedy string
	}{
		{name: "no file", file: "/nowhere/libcuda.so.1", reason: ErrNoDriver, text: "CUDA: cannot load /nowhere/libcuda.so.1: cannot open shared object file", mustRemedy: "give the path of libcuda.so.1 in cuda-library, or remove the setting"},
		{name: "not a library", file: broken, reason: ErrNoDriver, text: "broken.so.1: file too short. Give the path", mustRemedy: "in cuda-library"},
		{name: "not a driver", file: compiled(t, "nothing.c"), reason: ErrNoDriver, text: "nothing.c.so.1 is not a CUDA driver. Give the path", mustRemedy: "in cuda-library"},
		{name: "too old", file: good, setting: "11080", reason: ErrOldDriver, text: "it is CUDA 11.8, and Troupe needs CUDA 12.0", mustRemedy: "driver 525"},
		{name: "no device", file: good, init: "cuInit=100", reason: ErrNoDevice, code: 100, text: "the driver's words (NAME)", mustRemedy: "CUDA_VISIBLE_DEVICES"},
		{name: "stub", file: good, init: "cuInit=34", reason: ErrNoDriver, code: 34, text: "the driver's words (NAME)", mustRemedy: "LD_LIBRARY_PATH"},
		{name: "module of another version", file: good, init: "cuInit=803", reason: ErrOldDriver, code: 803, text: "the driver's words (NAME)", mustRemedy: "restart the machine"},
		{name: "compatibility package", file: good, init: "cuInit=804", reason: ErrOldDriver, code: 804, text: "the driver's words (NAME)", mustRemedy: "cuda-compat"},
		{name: "fabric manager", file: good, init: "cuInit=802", reason: ErrNoDevice, code: 802, text: "the driver's words (NAME)", mustRemedy: "fabric"},
		{name: "permissions", file: good, init: "cuInit=304", reason: ErrNoDevice, code: 304, text: "the driver's words (NAME)", mustRemedy: "/dev/nvidia"},
		{name: "unknown", file: good, init: "cuInit=999", reason: ErrNoDevice, code: 999, text: "the driver refused the call (CUDA_ERROR_UNKNOWN)", mustRemedy: "modprobe -r nvidia_uvm"},
		{name: "version", file: good, init: "cuDriverGetVersion=46", reason: ErrNoDevice, code: 46, text: "the driver's words (NAME)", mustRemedy: "compute mode prohibits use: end the other process, or allow sharing (nvidia-smi -c DEFAULT)"},
		{name: "code without meaning", file: good, init: "cuInit=877", code: 877, text: "result 877"},
	} {
		t.Run(c.name, func(t *testing.T) {
			closeDriver()
			fail(t, c.init)
			t.Setenv("FAKE_CUDA_VERSION", c.setting)
			err := Open(Options{Library: c.file})
			e := new(Error)
			if !errors.As(err, &e) {
				t.Fatalf("Open returned %v", err)
			}
			if e.Code != c.code || e.Device != -1 || e.Sticky || c.reason != nil && !errors.Is(err, c.reason) {
				t.Errorf("the error is %+v, not of %v", e, c.reason)
			}
			if !strings.Contains(err.Error(), c.text) || !strings.Contains(e.Remedy, c.mustRemedy) {
				t.Errorf("the error is %q; it must have %q and the remedy %q", err, c.text, c.mustRemedy)
			}
			if n, err := Count(); err == nil {
				t.Errorf("there are %d devices without a driver", n)
			}
			fail(t)
			t.Setenv("FAKE_CUDA_VERSION", "")
			if err := Open(Options{Library: good}); err != nil {
				t.Errorf("a second attempt: %v", err)
			}
		})
	}
}

func TestOpenTwice(t *testing.T) {
	start(t)
	for _, library := range []string{"", fake(t)} {
		if err := Open(Options{Library: library}); err != nil {
			t.Errorf("%q: %v", library, err)
		}
	}
	if err := Open(Options{Library: "/another/libcuda.so.1"}); err == nil || !strings.Contains(err.Error(), fake(t)) {
		t.Errorf("another file: %v", err)
	}
}

func TestFind(t *testing.T) {
	folder := t.TempDir()
	broken := filepath.Join(folder, libraryName)
	if err := os.WriteFile(broken, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(folder, "absent", libraryName)
	l, err := find([]string{"libtroupe-has-none.so.1", absent, broken, fake(t)}, "")
	if err != nil || l.path != fake(t) {
		t.Errorf("found %q, %v", l.path, err)
	}
	_, err = find([]string{"libtroupe-has-none.so.1", absent, broken}, Options{}.remedy())
	if text := err.Error(); !errors.Is(err, ErrNoDriver) || !strings.HasPrefix(text, "CUDA: cannot load libtroupe-has-none.so.1: cannot open shared object file: No such file or directory; "+broken+": file too short. Install NVIDIA's driver 525") ||
		strings.Count(text, "libtroupe-has-none") != 1 || strings.Count(text, broken) != 1 || strings.Contains(text, "absent") {
		t.Errorf("none found: %q", text)
	}
}

func TestPlaces(t *testing.T) {
	all := places("")
	if all[0] != "libcuda.so.1" || len(all) != 5 || all[3] != "/usr/lib/wsl/lib/libcuda.so.1" {
		t.Errorf("the places are %q", all)
	}
	if one := places("/a/b"); len(one) != 1 || one[0] != "/a/b" {
		t.Errorf("the only place is %q", one)
	}
}

// Before Open, each call says so; package cu's own init was satisfied by our cuInit, or this
// test would not run.
func TestNothingWorksBeforeOpen(t *testing.T) {
	closeDriver()
	for name, f := range map[string]func() error{
		"Count":    func() error { _, err := Count(); return err },
		"Describe": func() error { _, err := Describe(0); return err },
		"Retain":   func() error { _, err := Retain(0); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_NOT_INITIALIZED") || !strings.Contains(err.Error(), "please report it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
