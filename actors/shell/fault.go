package shell

import (
	"fmt"
	"runtime"

	"github.com/troupe-engine/troupe/internal/invariants"
)

// Fault describes a recovered panic for logs and for errors to other clients. Errors of
// the Go runtime and broken invariants contain only ids and counts. Any other value may
// contain data of a client, so only its type is given; the stack shows where it was.
func Fault(panicked any) string {
	switch v := panicked.(type) {
	case invariants.Violation:
		return v.Error()
	case runtime.Error:
		return v.Error()
	}
	return fmt.Sprintf("a value of type %T (not shown, because it may contain data of a client; see the stack)", panicked)
}
