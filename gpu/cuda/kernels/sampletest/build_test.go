package sampletest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

const home = ".." // the folder of the kernels

var mainSources = []string{"main.cc", "twin.cc", "cases.cc"}

// program compiles sources in cc with the kernels in a folder. It skips the test where that
// is not possible; TROUPE_CUDA_TESTS=1 makes a missing compiler a failure.
func program(t *testing.T, sources []string, kernels string, s cudaemu.Sanitizer) string {
	t.Helper()
	if os.Getenv("TROUPE_CUDA_TESTS") == "" {
		t.Skip("compiles C++ for a minute; set TROUPE_CUDA_TESTS=1, as make test-cuda does")
	}
	if testing.Short() {
		t.Skip("compiles C++")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the emulation is for Linux")
	}
	var files []string
	for _, name := range sources {
		files = append(files, filepath.Join(home, "sampletest/cc", name))
	}
	// main.cc includes sampling.cu: a change of it is noticed by a flag that names it.
	version := fmt.Sprintf("-DSAMPLING_VERSION=0x%x", sha256.Sum256(read(t, filepath.Join(kernels, "sampling.cu"))))
	p, err := cudaemu.Program(files, []string{kernels, filepath.Join(home, "sampletest/cc")},
		cudaemu.Options{Sanitizer: s, Flags: []string{version, "-Wno-parentheses"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), cudaemu.SanitizerEnvironment()...)
	return cmd
}

// output runs a program that must succeed and logs what it prints.
func output(t *testing.T, program string, args ...string) {
	t.Helper()
	out, err := command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	t.Logf("%v: %s", args, bytes.TrimSpace(out))
}
