package archtest

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files hold one idea: past 400 lines a reader should wonder, past 600 the test
// fails. Generated files are exempt.
func TestFilesStayReadable(t *testing.T) {
	for _, file := range append(goFiles(t), kernelFiles(t)...) {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(text, []byte("\n"))
		if bytes.Contains(text, []byte("// Code generated")) {
			continue
		}
		switch {
		case lines > 600:
			t.Errorf("%s has %d lines; split it by idea (600 at most)", file, lines)
		case lines > 400:
			t.Logf("%s has %d lines; does it still hold one idea?", file, lines)
		}
	}
}

// kernelFiles are the sources in CUDA and C++.
func kernelFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, dir := range []string{"gpu/cuda/kernels", "gpu/cuda/kernels/twin", "gpu/cuda/kernels/sampletest", "testkit/cudaemu/emu", "testkit/cudaemu/fakedriver", "testkit/cudaemu/testdata"} {
		for _, ext := range []string{"cu", "cuh", "cc", "h"} {
			found, err := filepath.Glob(filepath.Join(root, dir, "*."+ext))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				name, err := filepath.Rel(root, f)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, name)
			}
		}
	}
	if len(files) < 50 {
		t.Errorf("only %d files of kernels are found", len(files))
	}
	return files
}

// Every package says once what it is for.
func TestEveryPackageHasOneComment(t *testing.T) {
	comments, packages := map[string]int{}, map[string]bool{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		packages[dir] = true
		if parsed.Doc != nil {
			comments[dir]++
		}
	}
	for dir := range packages {
		if comments[dir] != 1 {
			t.Errorf("package %s has %d package comments; it needs exactly one that says what it is for", dir, comments[dir])
		}
	}
}
