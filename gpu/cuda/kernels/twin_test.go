package kernels

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

// The kernels agree with plain twins in double precision (twin/), over the emulation, and
// rows have the same bits alone, in batches, in chunks and in padded grids. With -v it
// prints the shapes and the largest errors reached. TROUPE_CUDA_SANITIZE=1 checks memory,
// TROUPE_SOAK=1 tries e^x for every float.
func TestTwins(t *testing.T) {
	program := twins(t)
	for _, seed := range []string{"1", "2"} { // data and schedules
		cmd := exec.Command(program, seed)
		cmd.Env = append(os.Environ(), cudaemu.SanitizerEnvironment()...)
		out, err := cmd.CombinedOutput()
		var table bytes.Buffer
		w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "ok") || strings.HasPrefix(line, "FAIL") {
				fmt.Fprint(w, line)
			}
			if strings.HasPrefix(line, "FAIL") {
				t.Errorf("seed %s: %s", seed, strings.TrimSpace(line))
			}
		}
		w.Flush()
		if err != nil && !t.Failed() {
			t.Fatalf("seed %s: %v\n%s", seed, err, out[max(0, len(out)-4000):])
		}
		if seed == "1" {
			t.Logf("kernel, shape, largest error, limit\n%s", table.String())
		}
	}
}

// Blocks that share a result have no race: barriers, fences and atomics order what they do.
func TestTwoBlocks(t *testing.T) {
	twins(t)
	files := slices.Concat([]string{"store_kv.cu", "tensor_decode.cu", "tensor_gemm_wgmma.cu"}, glob(t, "twin/*.cc"))
	program, err := cudaemu.Program(files, []string{".", "twin"}, cudaemu.Options{Sanitizer: cudaemu.Races})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []string{"decode_two_blocks", "gemm_two_blocks"} {
		if out, err := exec.Command(program, "1", test).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", test, err, out)
		}
	}
}

// twins builds the test program, or skips the test. TROUPE_CUDA_TESTS=1 makes a missing
// compiler a failure.
func twins(t *testing.T) string {
	t.Helper()
	if os.Getenv("TROUPE_CUDA_TESTS") == "" {
		t.Skip("compiles C++ for a minute; set TROUPE_CUDA_TESTS=1, as make test-cuda does")
	}
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the emulation compiles C++ for linux/amd64")
	}
	var options cudaemu.Options
	if os.Getenv("TROUPE_CUDA_SANITIZE") != "" {
		options.Sanitizer = cudaemu.Address
	}
	program, err := cudaemu.Program(slices.Concat(glob(t, "*.cu"), glob(t, "twin/*.cc")), []string{".", "twin"}, options)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s (%v)", pattern, err)
	}
	return files
}
