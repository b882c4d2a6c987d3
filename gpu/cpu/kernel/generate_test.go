package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestGenerated writes the assembly anew and compares it with what is there.
func TestGenerated(t *testing.T) {
	text, err := os.ReadFile("generate.go")
	if err != nil {
		t.Fatal(err)
	}
	families := regexp.MustCompile(`-family (\w+)`).FindAllSubmatch(text, -1)
	files, err := filepath.Glob("*_amd64.s")
	if err != nil || len(files) != len(families) {
		t.Fatalf("%d families in generate.go and the files %v: %v", len(families), files, err)
	}
	gen := filepath.Join(t.TempDir(), "gen")
	if out, err := exec.Command("go", "build", "-o", gen, "./gen").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, f := range families {
		family := string(f[1])
		cmd := exec.Command(gen, "-family", family)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", family, err, out)
		}
		for _, file := range []string{family + "_amd64.s", family + "_amd64.go"} {
			want, err := os.ReadFile(filepath.Join(cmd.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, want) {
				t.Errorf("%s is not what its source in gen gives (%v); run make generate", file, err)
			}
		}
	}
}

// TestAVX2UsesNothingMore: with too many registers in use the generator would
// take those of AVX-512, without a word.
func TestAVX2UsesNothingMore(t *testing.T) {
	files, err := filepath.Glob("*_amd64.s")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	more := regexp.MustCompile(`\b(Z\d+|[XY](1[6-9]|2\d|3[01])|K[0-7])\b`)
	checked := 0
	for _, file := range files {
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
