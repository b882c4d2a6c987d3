// Package golden compares the output of a test with a file that a person has read.
// The tests of a package that imports it have the flag -rewrite.
package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files again")

// Rewriting reports whether the files are to be written again.
func Rewriting() bool { return *rewrite }

// Compare fails unless got is the content of testdata/name, or writes it there.
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
		line, got, want := difference(got, string(want))
		t.Errorf("%s differs from line %d on (-rewrite writes it again); got:\n%s\nwant:\n%s", file, line, got, want)
	}
}

// difference removes the lines that two texts begin and end with, and returns the
// number of the first one that is left.
func difference(a, b string) (line int, restA, restB string) {
	linesA, linesB := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for len(linesA) > 0 && len(linesB) > 0 && linesA[0] == linesB[0] {
		line, linesA, linesB = line+1, linesA[1:], linesB[1:]
	}
	for len(linesA) > 0 && len(linesB) > 0 && linesA[len(linesA)-1] == linesB[len(linesB)-1] {
		linesA, linesB = linesA[:len(linesA)-1], linesB[:len(linesB)-1]
	}
	return line + 1, first(linesA), first(linesB)
}

// first joins the first lines: two long texts that differ in two places differ in all
// lines between them.
func first(lines []string) string {
	const most = 30
	if len(lines) <= most {
		return strings.Join(lines, "")
	}
	return strings.Join(lines[:most], "") + fmt.Sprintf("(%d more lines)\n", len(lines)-most)
}
