package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestGenerated writes all assembly again and compares it with the files in the
// packages. There must be no other assembly.
func TestGenerated(t *testing.T) {
	gen := filepath.Join(t.TempDir(), "gen")
	if out, err := exec.Command("go", "build", "-o", gen, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	written := map[string]bool{}
	for name, f := range families {
		root := t.TempDir()
		dir := filepath.Join(root, f.pkg)
		cmd := exec.Command(gen, "-family", name)
		cmd.Dir = filepath.Join(root, "gen")
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(cmd.Dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			want, err := os.ReadFile(filepath.Join(dir, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("..", f.pkg, file.Name())
			written[path] = true
			if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
				t.Errorf("%s differs from what gen writes (%v); run make generate", path, err)
			}
		}
	}
	for _, path := range assembly(t) {
		if !written[path] {
			t.Errorf("no family writes %s", path)
		}
	}
}

func assembly(t *testing.T) []string {
	files, err := filepath.Glob("../*/*.s")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// TestAVX2UsesNothingMore: with too many registers in use the generator would
// silently take those of AVX-512.
func TestAVX2UsesNothingMore(t *testing.T) {
	more := regexp.MustCompile(`\b(Z\d+|[XY](1[6-9]|2\d|3[01])|K[0-7])\b`)
	checked := 0
	for _, file := range assembly(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range bytes.Split(text, []byte("\nTEXT "))[1:] {
			name, _, _ := bytes.Cut(f, []byte("("))
			if !bytes.HasSuffix(name, []byte("AVX2")) {
				continue
			}
			checked++
			if at := more.Find(f); at != nil {
				t.Errorf("%s: %s uses %s", file, name, at)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d functions of AVX2 were found", checked)
	}
}
