package binarytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// root is that of the repository.
const root = "../.."

// folder is for what the tests build. TestMain removes it.
var folder string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "troupe-binaries"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return m.Run()
}

// Both binaries, as releases have them.
var (
	buildPlain = sync.OnceValues(func() (string, error) { return build(root, "build", "OUT", "troupe") })
	buildCUDA  = sync.OnceValues(func() (string, error) { return build(root, "build-cuda", "OUT_CUDA", "troupe-cuda") })
	buildFake  = sync.OnceValues(func() (string, error) {
		return cudaemu.Build(filepath.Join(root, "gpu/cuda/kernels"), cudaemu.Options{})
	})
)

// build runs make in a folder with the sources.
func build(sources, target, out, name string) (string, error) {
	path := filepath.Join(folder, name)
	c := exec.Command("make", "-s", "-C", sources, target, out+"="+path, "VERSION=v0.0.1-test", "COMMIT=0123456789ab")
	c.Env = append(environment(), "GOOS=linux", "GOARCH=amd64")
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make %s: %w\n%s", target, err, text)
	}
	return path, nil
}

// environment is that of the tests without settings of Troupe.
func environment() (list []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TROUPE_") {
			list = append(list, e)
		}
	}
	return list
}

// plain builds the default binary.
func plain(t *testing.T) string {
	t.Helper()
	notTwice(t)
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip(err)
	}
	return must(buildPlain())(t)
}

// notTwice skips a test of what a build gives where little time is wanted, and under the race
// detector, which has no part in it.
func notTwice(t *testing.T) {
	t.Helper()
	if testing.Short() || racedetector.Enabled {
		t.Skip("it builds the binary; make test does")
	}
}

// withCUDA builds the binary with CUDA, or skips the test.
func withCUDA(t *testing.T) string {
	t.Helper()
	if os.Getenv("TROUPE_CUDA_TESTS") == "" {
		t.Skip("it builds with cgo; set TROUPE_CUDA_TESTS=1, as make test-cuda does")
	}
	return must(buildCUDA())(t)
}

// fake builds the fake driver.
func fake(t *testing.T) string {
	t.Helper()
	return must(buildFake())(t)
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
