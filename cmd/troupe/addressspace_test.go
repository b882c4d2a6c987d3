//go:build linux && (amd64 || arm64)

package main

import (
	"debug/elf"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// entryFlags are the linker flags for the entry point in the Makefile.
const entryFlags = "-E _troupe_entry"

// built is a binary made with the flags of `make build`, so that it takes most
// of it from the build cache.
func built(t *testing.T, ldflags string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "troupe")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w "+ldflags, "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// loaded is how much address space the kernel needs to load a binary, in KiB.
// With less it ends the process before it runs.
func loaded(t *testing.T, bin string) int {
	t.Helper()
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var end uint64
	start := uint64(math.MaxUint64)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			start, end = min(start, p.Vaddr), max(end, p.Vaddr+p.Memsz)
		}
	}
	return int(end-start) >> 10
}

// limited is a command under a limit of address space in KiB.
func limited(kib int, bin string) []string {
	return []string{"sh", "-c", fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, kib), bin}
}

// With any limit of address space, the program prints our text with status 1, or
// serves. Go's runtime never prints an error.
func TestLowAddressSpace(t *testing.T) {
	const mib, least = 1 << 10, leastAddressSpace >> 10
	if makefile, err := os.ReadFile("../../Makefile"); err != nil || !strings.Contains(string(makefile), entryFlags) {
		t.Errorf("the Makefile does not name the entry point: %v", err)
	}
	bin := built(t, entryFlags)
	limits := []int{least - 1}
	for kib := loaded(t, bin) + 16*mib; kib <= least+256*mib; kib += 16 * mib {
		limits = append(limits, kib)
	}
	for _, kib := range limits {
		s := startServer(t, limited(kib, bin))
		if s.URL != "" {
			if !s.answers(t) || kib < least {
				t.Errorf("%d KiB: it answers below the limit, or does not answer above it; the log:\n%s", kib, s.logged)
			}
			s.Process.Signal(os.Interrupt)
		}
		status, log := s.ends(), s.logged.String()
		if strings.Contains(log, "goroutine ") || strings.Contains(log, "runtime:") || strings.Contains(log, "fatal error") {
			t.Errorf("%d KiB: a trace of Go:\n%s", kib, log)
		}
		if kib >= least {
			if s.URL == "" || status != 0 {
				t.Errorf("%d KiB: status %d:\n%s", kib, status, log)
			}
			continue
		}
		if want := lowAddressSpace(uint64(kib) << 10); log != want || status != 1 {
			t.Errorf("%d KiB: status %d and %q, want %q", kib, status, log, want)
		}
	}
}

// A binary without the entry point checks the limit in main, if it gets there.
func TestLowAddressSpaceInMain(t *testing.T) {
	const kib = 1400 << 10
	s := startServer(t, limited(kib, built(t, "")))
	if status := s.ends(); status != 1 || s.logged.String() != lowAddressSpace(kib<<10) {
		t.Errorf("status %d: %s", status, s.logged)
	}
}

func TestAddressSpaceTextNamesLimitNeedAndRemedy(t *testing.T) {
	if text := lowAddressSpace(leastAddressSpace); text != "" {
		t.Errorf("enough is refused: %s", text)
	}
	text := lowAddressSpace(leastAddressSpace - 1)
	for _, want := range []string{"ulimit -v", fmt.Sprintf("at least %d KiB", leastAddressSpace>>10), "ulimit -v unlimited", fmt.Sprintf("in KiB is %d\n", leastAddressSpace>>10-1)} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}
