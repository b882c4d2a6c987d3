package cudaemu

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// unit is one file to compile.
type unit struct {
	source string
	flags  []string
	key    string // what its object depends on besides its text
}

func (b *build) kernel(file string) unit { return unit{file, b.flags, b.key} }

// ownUnits are parts of this package. A part is compiled as one unit, which takes a third
// of the time that its files take alone.
func (b *build) ownUnits(parts ...string) []unit {
	// Arithmetic on arrays of its own, and half of the time: not worth a check.
	units := []unit{{filepath.Join(b.own, "emu", "dot.cc"), append(slices.Clone(b.ownFlags), "-fno-sanitize=all"), b.ownKey}}
	for _, p := range parts {
		// Undefined behaviour is looked for in kernels; in all of the driver it would
		// take half a minute to compile.
		units = append(units, unit{filepath.Join(b.own, p+".cc"), append(slices.Clone(b.ownFlags), "-fno-sanitize=undefined"), b.ownKey})
	}
	return units
}

// together is a file that includes all C++ files of a part but dot.cc.
func together(part string, files map[string][]byte) []byte {
	var text bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if folder, name := filepath.Split(path); folder == part+"/" && filepath.Ext(name) == ".cc" && name != "dot.cc" {
			fmt.Fprintf(&text, "#include %q\n", path)
		}
	}
	return text.Bytes()
}

// digest is the start of a SHA-256, long enough for names of files.
func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// extract writes the sources of the emulation into the cache, in a folder that their
// content names, so that compilers and debuggers find them.
func (b *build) extract() error {
	var parts [][]byte
	files := map[string][]byte{}
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := sources.ReadFile(path)
		files[path] = data
		parts = append(parts, []byte(path), data)
		return err
	})
	if err != nil {
		return err
	}
	for _, part := range []string{"emu", "fakedriver"} {
		files[part+".cc"] = together(part, files)
		parts = append(parts, files[part+".cc"])
	}
	b.own = filepath.Join(b.cache, "sources-"+digest(parts...))
	b.exports = filepath.Join(b.own, "fakedriver", "exports.map")
	if _, err := os.Stat(b.own); err == nil {
		touch(b.own)
		return nil
	}
	temporary, err := os.MkdirTemp(b.cache, "sources-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	for path, data := range files {
		to := filepath.Join(temporary, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o666); err != nil {
			return err
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	if err := os.Rename(temporary, b.own); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, exists := os.Stat(b.own); exists != nil {
			return err
		}
	}
	return nil
}

// identify gives what results depend on besides a unit's own text: compiler, flags, and
// every header in the folders. The folders' own names do not matter, so that packages that
// name them differently share results.
func (b *build) identify(flags, folders []string) (string, error) {
	version, err := exec.Command(b.compiler, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", b.compiler, err)
	}
	flags = slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return strings.HasPrefix(f, "-I") })
	parts := [][]byte{version, []byte(strings.Join(flags, "\x00")), []byte(filepath.Base(b.own))}
	for i, folder := range folders {
		if slices.Contains(folders[:i], folder) {
			continue
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			switch filepath.Ext(e.Name()) {
			case ".h", ".cuh":
				data, err := os.ReadFile(filepath.Join(folder, e.Name()))
				if err != nil {
					return "", err
				}
				parts = append(parts, []byte(e.Name()), data)
			}
		}
	}
	return digest(parts...), nil
}

// link compiles the units that are not in the cache, and links them. Only one process
// does so at a time: others wait, and then find everything there.
func (b *build) link(units []unit, name string, flags ...string) (string, error) {
	objects := make([]string, len(units))
	var parts [][]byte
	for i, u := range units {
		text, err := os.ReadFile(u.source)
		if err != nil {
			return "", err
		}
		objects[i] = filepath.Join(b.cache, "out", digest([]byte(u.key), []byte(strings.Join(u.flags, "\x00")), []byte(filepath.Base(u.source)), text)+".o")
		parts = append(parts, []byte(objects[i]))
	}
	folder := filepath.Join(b.cache, "out", digest(append(parts, []byte(strings.Join(flags, "\x00")))...))
	result := filepath.Join(folder, name)
	if _, err := os.Stat(result); err == nil {
		touch(folder)
		return result, nil
	}
	lock := flock.New(filepath.Join(b.cache, "lock"))
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Path(), err)
	}
	defer lock.Unlock()
	b.prune()
	if err := b.compile(units, objects); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	args := append(slices.Clone(objects), flags...)
	if err := b.run(result, append(args, linkFlags(b.flags)...)...); err != nil {
		return "", err
	}
	return result, nil
}

// compile makes the objects that are missing, several at a time.
func (b *build) compile(units []unit, objects []string) error {
	jobs := b.jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	work := make(chan int)
	failed := make([]error, len(units))
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for i := range work {
				args := append(slices.Clone(units[i].flags), "-c", "-x", "c++", units[i].source)
				failed[i] = b.run(objects[i], args...)
			}
		})
	}
	for i := range units {
		if _, err := os.Stat(objects[i]); err == nil {
			touch(objects[i])
			continue
		}
		work <- i
	}
	close(work)
	workers.Wait()
	return errors.Join(failed...)
}

// run calls the compiler, and puts its output into place only if it succeeds.
func (b *build) run(output string, args ...string) error {
	temporary := output + ".new"
	defer os.Remove(temporary)
	var text bytes.Buffer
	c := exec.Command(b.compiler, append(args, "-o", temporary)...)
	c.Stdout, c.Stderr = &text, &text
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(args[len(args)-1]), err, text.Bytes())
	}
	return os.Rename(temporary, output)
}

// prune removes what was not used for long.
func (b *build) prune() {
	for _, folder := range []string{b.cache, filepath.Join(b.cache, "out")} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return
		}
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && time.Since(info.ModTime()) > unused && e.Name() != "lock" && e.Name() != "out" {
				os.RemoveAll(filepath.Join(folder, e.Name()))
			}
		}
	}
}

// touch notes a use, for prune. If it fails, the result is only removed sooner.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}
