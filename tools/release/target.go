package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// target is a binary of a release.
type target struct {
	system, arch string
	cuda         bool // it also uses NVIDIA GPUs
}

// targets are all that a release has.
var targets = []target{
	{"linux", "amd64", false}, {"linux", "amd64", true}, {"linux", "arm64", false},
	{"darwin", "amd64", false}, {"darwin", "arm64", false}, {"windows", "amd64", false},
}

func (t target) platform() string { return t.system + "/" + t.arch }

func (t target) String() string {
	if t.cuda {
		return t.platform() + " with CUDA"
	}
	return t.platform()
}

// name is that of the program, and how the names of its archives begin.
func (t target) name() string {
	if t.cuda {
		return "troupe-cuda"
	}
	return "troupe"
}

func (t target) binary() string {
	if t.system == "windows" {
		return t.name() + ".exe"
	}
	return t.name()
}

// archive is the name of the archive without suffix, and of the folder in it.
func (t target) archive(version string) string {
	return fmt.Sprintf("%s_%s_%s_%s", t.name(), strings.TrimPrefix(version, "v"), t.system, t.arch)
}

// ours reports whether a file has a name that a release gives.
func ours(name string) bool {
	return strings.HasPrefix(name, "troupe_") || strings.HasPrefix(name, "troupe-cuda_")
}

// make is the command that builds the binary.
func (t target) make(binary, version string) *exec.Cmd {
	c := exec.Command("make", "-s", "build", "OUT="+binary, "VERSION="+version)
	if t.cuda {
		c = exec.Command("make", "-s", "build-cuda", "OUT_CUDA="+binary, "VERSION="+version)
	}
	c.Env = append(os.Environ(), "GOOS="+t.system, "GOARCH="+t.arch)
	return c
}

// possible returns why the target cannot be built here, or nil.
func (t target) possible() error {
	if !t.cuda {
		return nil
	}
	const without = "; or leave this binary out with -without-cuda (make release RELEASE_FLAGS=-without-cuda)"
	if here := runtime.GOOS + "/" + runtime.GOARCH; here != t.platform() {
		return fmt.Errorf("%s can be built on %s only, and this is %s%s", t.name(), t.platform(), here, without)
	}
	if _, err := exec.LookPath(cmp.Or(os.Getenv("CC"), "gcc")); err != nil {
		return errors.New("there is no gcc, which troupe-cuda needs; install it (Debian's packages gcc and libc6-dev)" + without)
	}
	return nil
}

// choose returns the targets of one platform, or of all if it is "".
func choose(only string, withoutCUDA bool) ([]target, error) {
	var chosen []target
	var platforms []string
	for _, t := range targets {
		if !slices.Contains(platforms, t.platform()) {
			platforms = append(platforms, t.platform())
		}
		if (only == "" || only == t.platform()) && !(t.cuda && withoutCUDA) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-only is %q; it must be one of %s", only, strings.Join(platforms, ", "))
	}
	return chosen, nil
}
