package kernels

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is committed in gen/ was made from the sources beside it.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	sums, err := SourceSums(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if made := Contents().Sources; !maps.Equal(sums, made) {
		for name, sum := range sums {
			if made[name] != sum {
				t.Errorf("%s is not what gen/ was made from: run make kernels", name)
			}
		}
		for name := range made {
			if sums[name] == "" {
				t.Errorf("gen/ was made from %s too, which is gone: run make kernels", name)
			}
		}
	}
}

// Every output exists, is what the manifest says, and nothing else lies there.
func TestOutputsMatchTheManifest(t *testing.T) {
	files := []string{"manifest.json"}
	total := 0
	for _, o := range Contents().Outputs {
		files = append(files, o.File)
		packed, err := os.ReadFile(filepath.Join("gen", o.File))
		if err != nil {
			t.Fatalf("%v: run make kernels", err)
		}
		total += len(packed)
		if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != o.SHA256 {
			t.Errorf("gen/%s has another hash than the manifest says: run make kernels", o.File)
		}
		if n := unpackedLen(t, o.File); n != o.Bytes {
			t.Errorf("gen/%s unpacks to %d bytes, not %d: run make kernels", o.File, n, o.Bytes)
		}
	}
	entries, err := os.ReadDir("gen")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(files, e.Name()) {
			t.Errorf("gen/%s is not in the manifest", e.Name())
		}
	}
	if total > 3<<20 {
		t.Errorf("the outputs have %d bytes, more than 3 MiB", total)
	}
}

func unpackedLen(t *testing.T, file string) int {
	t.Helper()
	f, err := os.Open(filepath.Join("gen", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// Parameters are what a launch passes in boxes of 8 bytes, blocks have at most 1,024
// threads and 48 KiB of static shared memory, and every kernel is there for each target.
func TestKernelsKeepTheConventions(t *testing.T) {
	if len(Contents().Kernels) == 0 {
		t.Fatal("the manifest has no kernels")
	}
	for _, k := range Contents().Kernels {
		for _, bytes := range k.Parameters {
			if bytes != 4 && bytes != 8 {
				t.Errorf("%s has a parameter of %d bytes", k.Name, bytes)
			}
		}
		if k.Threads > 1024 {
			t.Errorf("%s has blocks of %d threads", k.Name, k.Threads)
		}
		if _, ok := k.Builds["sm_90a"]; !ok {
			t.Errorf("%s is missing for sm_90a", k.Name)
		}
		for target, b := range k.Builds {
			if b.Registers == 0 || b.Registers > 255 || b.Shared > 48<<10 {
				t.Errorf("%s on %s: %d registers, %d bytes of static shared memory", k.Name, target, b.Registers, b.Shared)
			}
			// The register file of a multiprocessor holds 64 Ki.
			if threads := max(k.Threads, 1); threads*((b.Registers+7)/8*8) > 64<<10 {
				t.Errorf("%s on %s: blocks of %d threads with %d registers do not fit", k.Name, target, threads, b.Registers)
			}
		}
	}
}
