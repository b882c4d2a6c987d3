//go:build cuda

package driver

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The names in the table are those of cuda.h for the codes.
func TestMeaningsHaveTheirNames(t *testing.T) {
	text, err := os.ReadFile("include/cuda.h")
	if err != nil {
		t.Fatal(err)
	}
	names := map[int]string{contained: "CUDA_ERROR_CONTAINED", tensorMemoryLeak: "CUDA_ERROR_TENSOR_MEMORY_LEAK"}
	for _, m := range regexp.MustCompile(`\t(CUDA_ERROR_\w+) = (\d+)`).FindAllStringSubmatch(string(text), -1) {
		code, _ := strconv.Atoi(m[2])
		names[code] = m[1]
	}
	for code, m := range meanings {
		if m.name != names[code] {
			t.Errorf("%d is %s, and the table says %s", code, names[code], m.name)
		}
	}
}

// After these results, NVIDIA's documentation says, the process has to be started anew; of
// some, that the device is gone.
func TestStickyCodes(t *testing.T) {
	var sticky []int
	for code := range maps.Keys(meanings) {
		e := failure(3, code, "cuX")
		if e.Sticky {
			sticky = append(sticky, code)
		}
		if e.Sticky != strings.Contains(e.Error(), ". Restart the process") || !strings.Contains(e.Error(), "CUDA device 3: cuX: ") {
			t.Errorf("%d: %v", code, e)
		}
	}
	slices.Sort(sticky)
	want := []int{4, 46, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 805, 806, 810, 911, 999}
	if !slices.Equal(sticky, want) {
		t.Errorf("sticky are %v", sticky)
	}
}

// Every result has a remedy besides a restart, also those that this package does not know.
func TestRemedies(t *testing.T) {
	for _, code := range append(slices.Collect(maps.Keys(meanings)), 998) {
		if e := failure(0, code, "cuX"); e.Remedy == "" || strings.HasPrefix(e.Remedy, ". ") || strings.HasSuffix(e.Remedy, ".") {
			t.Errorf("%d: %v", code, e)
		}
	}
}

// Before there is a context, an unknown failure is one of the machine's set-up.
func TestUnknownFailureWithoutContext(t *testing.T) {
	for want, err := range map[string]error{
		"CUDA: cuInit: the driver refused the call (CUDA_ERROR_UNKNOWN). Restart the machine, or load the module again": withoutContext(failure(-1, 999, "cuInit")),
		"CUDA device 0: cuX: the driver refused the call (CUDA_ERROR_UNKNOWN). Look for Xid":                            failure(0, 999, "cuX"),
	} {
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
