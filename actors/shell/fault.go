package shell

import (
	"fmt"
	"runtime"

	"github.com/troupe-engine/troupe/internal/invariants"
)

// Fault says what a recovered panic was, in words that logs and errors to other
// clients may have: those of the Go runtime and of a broken invariant, which
// know ids and counts only. Any other value may quote what a client sent, so
// only its type is told; the stack tells where it was.
func Fault(panicked any) string {
	switch v := panicked.(type) {
	case invariants.Violation:
		return v.Error()
	case runtime.Error:
		return v.Error()
	}
	return fmt.Sprintf("a value of type %T, which is not shown because it may quote a client; see the stack", panicked)
}
