//go:build cuda

package driver

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// newestLibc is the version of glibc that a binary may need: that of 2021, which has what
// was in libdl and libpthread before.
const newestLibc = 34 // 2.34

// A binary with this package needs the C library and nothing else, also where a libcuda.so
// is there for the linker to find, and starts without a driver.
func TestBinaryNeedsOnlyLibc(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"plain", "beside a libcuda.so"} {
		t.Run(name, func(t *testing.T) {
			binary := filepath.Join(folder, "needs")
			build := exec.Command("go", "build", "-tags", "cuda", "-o", binary, "./testdata/needs")
			build.Env = os.Environ()
			if name != "plain" {
				if testing.Short() {
					t.Skip("builds package cu again")
				}
				library, err := os.ReadFile(fake(t))
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, "libcuda.so"), library, 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
				// The linker finds it before our empty archive, and is told to need all it finds.
				build.Env = append(build.Env, "CC=gcc -Wl,--no-as-needed -L"+folder)
			}
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			checkNeeds(t, binary)
			for library, want := range map[string]string{"/nowhere/libcuda.so.1": "error: CUDA: cannot load /nowhere/libcuda.so.1", fake(t): "devices: 2 <nil>"} {
				if out, err := exec.Command(binary, library).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), want) {
					t.Errorf("with %s: %v, %s", library, err, out)
				}
			}
		})
	}
}

func checkNeeds(t *testing.T, binary string) {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("NEEDED: %q", libraries)
	for _, l := range libraries {
		if !slices.Contains([]string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}, l) {
			t.Errorf("the binary needs %s", l)
		}
	}
	imported, err := f.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	newest := 0
	for _, s := range imported {
		version, _ := strings.CutPrefix(s.Version, "GLIBC_2.")
		minor, _, _ := strings.Cut(version, ".")
		if n, err := strconv.Atoi(minor); err == nil {
			if newest = max(newest, n); n > newestLibc {
				t.Errorf("%s needs %s", s.Name, s.Version)
			}
		}
	}
	t.Logf("newest symbol of glibc: 2.%d", newest)
	// The driver's calls of its own functions must not find our trampolines.
	dynamic, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range dynamic {
		if strings.HasPrefix(s.Name, "cu") || strings.HasPrefix(s.Name, "troupe_") {
			t.Errorf("the binary exports %s", s.Name)
		}
	}
}
