// Package invariantstest helps tests that break invariants on purpose.
package invariantstest

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/internal/invariants"
)

// MustFail runs f, which must end in a Violation whose text contains what.
func MustFail(t testing.TB, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		v, ok := recover().(invariants.Violation)
		if !ok || !strings.Contains(v.What, what) {
			t.Errorf("violation %q, want %q", v.What, what)
		}
	}()
	f()
}
