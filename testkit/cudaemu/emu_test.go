package cudaemu

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// needCompiler skips a test where there is no g++, unless TROUPE_CUDA_TESTS makes that a
// failure.
func needCompiler(t *testing.T) {
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
	if _, err := exec.LookPath("g++"); err != nil {
		if os.Getenv("TROUPE_CUDA_TESTS") != "" {
			t.Fatal(ErrNoCompiler)
		}
		t.Skipf("%v; TROUPE_CUDA_TESTS=1 makes this a failure", ErrNoCompiler)
	}
}

func glob(t *testing.T, patterns ...string) []string {
	t.Helper()
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil || len(found) == 0 {
			t.Fatalf("no files %s: %v", p, err)
		}
		files = append(files, found...)
	}
	return files
}

// variants are the builds that all tests in C++ run with.
var variants = []struct {
	name    string
	options Options
	only    string // the file with tests; "": all
}{
	{name: "plain"},
	{name: "sanitized", options: Options{Sanitizer: Address}},
	{name: "races", options: Options{Sanitizer: Races}},
	{name: "libc's switch", options: Options{Flags: []string{"-DEMU_UCONTEXT"}}, only: "threads.cc"},
}

// Each test in testdata/*.cc: every primitive against a slow twin, mistakes in small
// kernels, errors. With -v it prints what the emulation costs.
func TestEmulation(t *testing.T) {
	needCompiler(t)
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			files := glob(t, "testdata/*.cc")
			if v.only != "" {
				files = []string{"testdata/test.cc", filepath.Join("testdata", v.only)}
			}
			program, err := Program(files, []string{"testdata"}, v.options)
			if err != nil {
				t.Fatal(err)
			}
			report(t, program, v.options)
		})
	}
}

// Each test in testdata/fake/*.cc: the driver's calls, order and lateness of work,
// resources, faults.
func TestFakeDriver(t *testing.T) {
	needCompiler(t)
	for _, v := range variants[:2] {
		t.Run(v.name, func(t *testing.T) {
			o := v.options
			o.Header = "../../gpu/cuda/driver/include"
			program, err := program(glob(t, "testdata/test.cc", "testdata/fake/*.cc"), []string{"testdata", "testdata/fake"}, o, "emu", "fakedriver")
			if err != nil {
				t.Fatal(err)
			}
			report(t, program, o)
		})
	}
}

// report runs a program of tests and makes each of its lines a result.
func report(t *testing.T, program string, o Options) {
	t.Helper()
	c := exec.Command(program)
	c.Env = append(os.Environ(), SanitizerEnvironment()...)
	out, err := c.CombinedOutput()
	results := 0
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "ok":
			results++
		case "FAIL":
			results++
			t.Errorf("%s: %s", o.Sanitizer, rest)
		case "time":
			t.Log(rest)
		}
	}
	if err != nil && !t.Failed() || results == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Accesses out of bounds, of shared and of global memory, and undefined behaviour end a
// sanitized program with a report.
func TestSanitizerFindsMistakes(t *testing.T) {
	needCompiler(t)
	program, err := Program(glob(t, "testdata/sanitized/*.cc"), nil, Options{Sanitizer: Address})
	if err != nil {
		t.Fatal(err)
	}
	for mistake, want := range map[string]string{
		"none":    "fine",
		"global":  "heap-buffer-overflow",
		"before":  "heap-buffer-overflow",
		"static":  "use-after-poison",
		"between": "use-after-poison",
		"dynamic": "use-after-poison",
		"local":   "insufficient space for an object",
		"shift":   "shift exponent 32",
		"align":   "misaligned address",
	} {
		c := exec.Command(program, mistake)
		c.Env = append(os.Environ(), SanitizerEnvironment()...)
		out, _ := c.CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: no %q in\n%s", mistake, want, out)
		}
	}
}

func TestBuild(t *testing.T) {
	needCompiler(t)
	kernels := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(kernels, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Header: "../../gpu/cuda/driver/include"}
	if _, err := Build(kernels, o); err == nil || !strings.Contains(err.Error(), "no kernels") {
		t.Errorf("an empty folder gives %v", err)
	}
	write("one.cu", "#include \"emu.h\"\n#include \"part.cuh\"\nKERNEL(one)(int *p) { *p = PART; }\nREGISTER(one);\n")
	write("part.cuh", "#define PART 1\n")
	first, err := Build(kernels, o)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Build(kernels, o); err != nil || again != first {
		t.Errorf("a second call gives %s, %v instead of %s", again, err, first)
	}
	write("part.cuh", "#define PART 2\n")
	if changed, err := Build(kernels, o); err != nil || changed == first {
		t.Errorf("a changed header gives %s, %v", changed, err)
	}
	write("one.cu", "#include \"emu.h\"\nKERNEL(one)(int *p) { *p = nothing; }\n")
	if _, err := Build(kernels, o); err == nil || !strings.Contains(err.Error(), "one.cu") || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a mistake in a kernel gives %v", err)
	}
	o.Compiler = "no-such-compiler"
	if _, err := Build(kernels, o); !errors.Is(err, ErrNoCompiler) {
		t.Errorf("a missing compiler gives %v", err)
	}
}
