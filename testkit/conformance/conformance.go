// Package conformance finds data and results of other projects for tests.
package conformance

import (
	"os"
	"path/filepath"
	"testing"
)

// variable names the folder. docs/testing.md says what tests look for in it.
const variable = "TROUPE_CONFORMANCE"

// Path is a path below the folder, or the folder itself. Without one the test
// is skipped.
func Path(t testing.TB, below ...string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("%s is not set; it names the folder with other people's data and results", variable)
	}
	return filepath.Join(append([]string{dir}, below...)...)
}
