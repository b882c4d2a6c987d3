package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var mutex = regexp.MustCompile(`\bsync\.(RW)?Mutex\b`)

// Engine state needs no lock. docs/architecture.md lists every package of the
// serving path that has one, with what it guards.
func TestLocksAreListed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "\n## Locks\n")
	list, _, _ = strings.Cut(list, "\n## ")
	var listed, found []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z/]+)`").FindAllStringSubmatch(list, -1) {
		listed = append(listed, row[1])
	}
	for _, file := range goFiles(t) {
		pkg := filepath.ToSlash(filepath.Dir(file))
		if floorOf(pkg) < 0 || strings.HasSuffix(file, "_test.go") || slices.Contains(found, pkg) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if mutex.Match(text) {
			found = append(found, pkg)
		}
	}
	slices.Sort(listed)
	slices.Sort(found)
	if !slices.Equal(listed, found) {
		t.Errorf("packages with a mutex: %v; docs/architecture.md lists %v. State of an engine belongs to one actor; for anything else, add a row that says what the lock guards", found, listed)
	}
}
