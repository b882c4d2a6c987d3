package archtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the generated sections of docs anew")

// compareSection wants the text between two lines of a file to be what follows
// from the code, or writes it there.
func compareSection(t *testing.T, name, begin, end, want string) {
	t.Helper()
	file := filepath.Join(root, name)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no section from %q to %q", name, begin, end)
	}
	switch {
	case got == want:
	case *rewrite:
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("a section of %s does not follow from the code; go test ./internal/archtest -rewrite writes it anew, then read it", name)
	}
}
