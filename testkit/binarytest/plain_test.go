package binarytest

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const binding = "gorgonia.org/cu"

// The default binary is static and made without cgo, and has nothing of the CUDA binding.
func TestTheDefaultBinaryIsStatic(t *testing.T) {
	binary := plain(t)
	f := must(elf.Open(binary))(t)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has a segment %v, so it is not static", p.Type)
		}
	}
	stackIsNotExecutable(t, f)
	info := must(buildinfo.ReadFile(binary))(t)
	for _, s := range info.Settings {
		if s.Key == "CGO_ENABLED" && s.Value != "0" || s.Key == "-tags" {
			t.Errorf("it was built with %s=%s", s.Key, s.Value)
		}
	}
	for _, m := range info.Deps {
		if m.Path == binding {
			t.Errorf("the binary has %s", m.Path)
		}
	}
}

// stackIsNotExecutable checks what the loader is told about the stack.
func stackIsNotExecutable(t *testing.T, f *elf.File) {
	t.Helper()
	for _, p := range f.Progs {
		if p.Type == elf.PT_GNU_STACK {
			if p.Flags&elf.PF_X != 0 {
				t.Error("the stack is executable")
			}
			return
		}
	}
	t.Error("the binary does not say that its stack is not executable")
}

// No platform's default build reads a package of the CUDA binding.
func TestNoDefaultBuildHasTheBinding(t *testing.T) {
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"} {
		system, arch, _ := strings.Cut(platform, "/")
		list := exec.Command("go", "list", "-deps", "./cmd/troupe")
		list.Dir, list.Env = root, append(environment(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%s: %v", platform, err)
		}
		for pkg := range strings.Lines(string(out)) {
			if strings.HasPrefix(pkg, binding) {
				t.Errorf("%s: the default build has %s", platform, strings.TrimSpace(pkg))
			}
		}
	}
}

// With an empty module cache, the default build gets nothing of the CUDA binding but its
// go.mod. The downloads come from the module cache of this machine, not from the network.
func TestAnEmptyModuleCacheGetsNoBinding(t *testing.T) {
	notTwice(t)
	out := must(exec.Command("go", "env", "GOMODCACHE").Output())(t)
	downloads := filepath.Join(strings.TrimSpace(string(out)), "cache", "download")
	if _, err := os.Stat(downloads); err != nil {
		t.Skipf("modules come from elsewhere: %v", err)
	}
	empty := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", os.DevNull, "./cmd/troupe")
	build.Dir = root
	build.Env = append(environment(), "CGO_ENABLED=0", "GOMODCACHE="+empty, "GOPROXY=file://"+filepath.ToSlash(downloads), "GOFLAGS=-modcacherw -mod=readonly",
		"GOSUMDB=off", "GOTOOLCHAIN=local")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	var zips []string
	if err := filepath.WalkDir(empty, func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".zip" {
			zips = append(zips, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(zips) < 5 {
		t.Errorf("only %d modules were downloaded: this test does not see them", len(zips))
	}
	if i := slices.IndexFunc(zips, func(path string) bool { return strings.Contains(filepath.ToSlash(path), "/"+binding+"/") }); i >= 0 {
		t.Errorf("the default build downloads %s", zips[i])
	}
	t.Logf("%d modules were downloaded", len(zips))
}
