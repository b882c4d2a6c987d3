package binarytest

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	newestLibc = 34        // glibc 2.34 of 2021, which has what was in libdl and libpthread before
	mostLarger = 6_000_000 // bytes, than the default binary
)

// The binary with CUDA needs the C library and nothing else, an old one is enough, and it
// is little larger than the default one.
func TestWhatTheBinaryWithCUDANeeds(t *testing.T) {
	binary := withCUDA(t)
	f := must(elf.Open(binary))(t)
	defer f.Close()
	libraries := must(f.ImportedLibraries())(t)
	for _, l := range libraries {
		if !slices.Contains([]string{"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}, l) {
			t.Errorf("it needs %s", l)
		}
	}
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		if folders := must(f.DynString(tag))(t); len(folders) > 0 {
			t.Errorf("it looks for libraries in %q", folders)
		}
	}
	newest := 0
	for _, v := range must(f.DynamicVersionNeeds())(t) {
		for _, n := range v.Needs {
			version, is := strings.CutPrefix(n.Dep, "GLIBC_2.")
			minor, _, _ := strings.Cut(version, ".")
			number, err := strconv.Atoi(minor)
			if !is || err != nil || number > newestLibc {
				t.Errorf("it needs %s of %s", n.Dep, v.Name)
			}
			newest = max(newest, number)
		}
	}
	if newest == 0 {
		t.Error("no version of a library is needed: this test does not see them")
	}
	for _, s := range must(f.DynamicSymbols())(t) {
		if strings.HasPrefix(s.Name, "cu") || strings.HasPrefix(s.Name, "troupe_cuda") {
			t.Errorf("it imports or exports %s", s.Name)
		}
	}
	stackIsNotExecutable(t, f)
	var bound bool
	for _, m := range must(buildinfo.ReadFile(binary))(t).Deps {
		bound = bound || m.Path == binding && m.Version == "v0.9.6"
	}
	if !bound {
		t.Errorf("it is not built with %s v0.9.6", binding)
	}
	small, large := must(os.Stat(plain(t)))(t).Size(), must(os.Stat(binary))(t).Size()
	if large-small > mostLarger {
		t.Errorf("it is %d bytes larger than the default binary; at most %d are allowed", large-small, mostLarger)
	}
	t.Logf("needed: %q, glibc 2.%d; %d bytes, the default binary %d, difference %d", libraries, newest, large, small, large-small)
}

// Two builds in different folders give the same bytes, with the same Go and gcc.
func TestTheBinaryWithCUDAIsReproducible(t *testing.T) {
	first := must(os.ReadFile(withCUDA(t)))(t)
	other := filepath.Join(t.TempDir(), "elsewhere")
	files, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("not a git repository: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) { // removed, and not committed yet
			continue
		}
		to := filepath.Join(other, name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	second := must(os.ReadFile(must(build(other, "build-cuda", "OUT_CUDA", "troupe-cuda-elsewhere"))(t)))(t)
	if !bytes.Equal(first, second) {
		t.Error("two builds of the same files differ")
	}
}
