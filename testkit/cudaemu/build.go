package cudaemu

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

//go:embed emu fakedriver
var sources embed.FS

// Sanitizer is what checks memory while kernels run.
type Sanitizer string

const (
	Plain Sanitizer = ""
	// Address finds accesses out of bounds and undefined behaviour when they happen, at
	// about a third of the speed. A program without AddressSanitizer that loads the
	// library needs Preload.
	Address Sanitizer = "address"
	// Races finds accesses that no barrier, fence or atomic orders, in any schedule, also
	// between blocks (emu/race.h). It takes 20 to 100 times as long, and a kernel that has
	// a race fails like one with divergent barriers.
	Races Sanitizer = "races"
)

// Options of Build. The zero value is a plain build with the defaults.
type Options struct {
	Sanitizer Sanitizer
	// Cache is the folder for results. "": troupe/cudaemu in the user's cache folder, or
	// in the folder for temporary files if there is none. It may be removed at any time.
	Cache string
	// Header is the folder of cuda.h, for Build. "": ../driver/include, seen from the kernels.
	Header string
	// Compiler is g++ or a path to it. "": g++ in PATH.
	Compiler string
	// Jobs is how many files are compiled at once. 0: one per processor.
	Jobs int
	// Flags are added to the compiler's. Sources that they name are not noticed when they
	// change.
	Flags []string
}

// ErrNoCompiler says that there is no g++.
var ErrNoCompiler = errors.New("there is no g++, which compiles the emulation of CUDA; install it (Debian's package g++)")

// Build compiles all kernels/*.cu with the emulation and the fake driver, and returns the
// path of a libcuda.so.1. What was compiled before is reused, so a second call takes some
// milliseconds. Several processes may build at once.
func Build(kernels string, o Options) (string, error) {
	files, err := filepath.Glob(filepath.Join(kernels, "*.cu"))
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("no kernels (*.cu) in %s", kernels)
	}
	if o.Header == "" {
		o.Header = filepath.Join(kernels, "..", "driver", "include")
	}
	b, err := newBuild(o, kernels)
	if err != nil {
		return "", err
	}
	units := b.ownUnits("emu", "fakedriver")
	for _, f := range files {
		units = append(units, b.kernel(f))
	}
	return b.link(units, "libcuda.so.1", "-shared", "-Wl,-soname,libcuda.so.1", "-Wl,--version-script="+b.exports)
}

// Program compiles C++ files with the emulation, without the fake driver: for tests of
// kernels alone. Folders are searched for what the files include.
func Program(files, folders []string, o Options) (string, error) {
	return program(files, folders, o, "emu")
}

func program(files, folders []string, o Options, parts ...string) (string, error) {
	b, err := newBuild(o, folders...)
	if err != nil {
		return "", err
	}
	units := b.ownUnits(parts...)
	for _, f := range files {
		units = append(units, b.kernel(f))
	}
	return b.link(units, "program")
}

// Preload is the value of LD_PRELOAD with which a program can load a library that was
// built with a sanitizer; "": it needs none. A Go program needs handle_segv=0 in
// ASAN_OPTIONS as well.
func Preload(o Options) (string, error) {
	if o.Sanitizer != Address {
		return "", nil
	}
	out, err := exec.Command(cmp.Or(o.Compiler, "g++"), "-print-file-name=libasan.so").Output()
	if err != nil {
		return "", fmt.Errorf("looking for libasan.so: %w", err)
	}
	return string(out[:len(out)-1]), nil
}

// SanitizerEnvironment are variables for programs with a sanitizer: errors end the
// program, and memory that the program still has at its end is no error.
func SanitizerEnvironment() []string {
	return []string{"ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0", "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"}
}

// build is one call of Build or Program.
type build struct {
	compiler, cache, own, exports string
	flags, ownFlags               []string // of kernels and test programs; of the emulation
	key, ownKey                   string   // what results depend on besides the unit itself
	jobs                          int
}

// newBuild prepares for kernels that include headers from folders.
func newBuild(o Options, folders ...string) (*build, error) {
	b := &build{jobs: o.Jobs}
	var err error
	if b.compiler, err = exec.LookPath(cmp.Or(o.Compiler, "g++")); err != nil {
		return nil, ErrNoCompiler
	}
	if b.cache = o.Cache; b.cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			user = os.TempDir()
		}
		b.cache = filepath.Join(user, "troupe", "cudaemu")
	}
	if err := os.MkdirAll(filepath.Join(b.cache, "out"), 0o777); err != nil {
		return nil, err
	}
	if err := b.extract(); err != nil {
		return nil, err
	}
	b.flags = append(flags(o.Sanitizer), o.Flags...)
	headers := []string{filepath.Join(b.own, "emu"), filepath.Join(b.own, "fakedriver")}
	if o.Header != "" {
		headers = append(headers, o.Header)
	}
	for _, f := range headers {
		b.flags = append(b.flags, "-I"+f)
	}
	b.ownFlags = slices.Clone(b.flags)
	for _, f := range folders {
		b.flags = append(b.flags, "-I"+f)
	}
	b.flags = append(append(b.flags, "-DTROUPE_EMULATION"), kernelFlags(o.Sanitizer)...)
	if b.ownKey, err = b.identify(b.ownFlags, headers); err != nil {
		return nil, err
	}
	b.key, err = b.identify(b.flags, append(headers, folders...))
	return b, err
}

// unused is how long a result stays in the cache after its last use.
const unused = 14 * 24 * time.Hour
