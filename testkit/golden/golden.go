// Package golden compares the output of a test with a file that a person has read.
// The tests of a package that imports it have the flag -rewrite.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// Rewriting reports whether the files are to be written anew.
func Rewriting() bool { return *rewrite }

// Compare wants got to be what testdata/name holds, or writes it there.
func Compare(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-rewrite writes it anew); got:\n%s\nwant:\n%s", file, got, want)
	}
}
