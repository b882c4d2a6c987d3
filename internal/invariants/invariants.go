// Package invariants reports broken invariants of a core.
//
// A broken invariant panics with a Violation. The supervisor ends the epoch and
// starts the next one from intake's table; clients see only a pause. Checks that
// cost more than a comparison run only if Enabled, which the build tag "invariants"
// sets; `make test` sets the tag.
package invariants

import "fmt"

// Violation is the value of a panic that reports a broken invariant.
type Violation struct{ What string }

func (v Violation) Error() string { return "invariant violated: " + v.What }

// Fail reports a broken invariant. It does not return.
func Fail(format string, args ...any) {
	panic(Violation{What: fmt.Sprintf(format, args...)})
}

// Check fails unless ok.
func Check(ok bool, format string, args ...any) {
	if !ok {
		Fail(format, args...)
	}
}
