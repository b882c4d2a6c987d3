package outputs

import "strings"

// Error is an error in a part of a spec.
type Error struct {
	// At is a JSON pointer into the spec. In what a schema says, and in the content, it goes on with
	// the place there: /tools/1/parameters/properties/x, or "/content, line 3, column 7".
	At  string
	Err error
}

// Error implements error.
func (e *Error) Error() string { return e.At + ": " + e.Err.Error() }

// Unwrap returns the error without the place.
func (e *Error) Unwrap() error { return e.Err }

// Place joins a pointer and a place that an error names within it.
func Place(at, inner string) string {
	if inner == "" || strings.HasPrefix(inner, "/") {
		return at + inner
	}
	return at + ", " + inner
}

// Omission is a keyword of a tool's schema that the grammar does not keep.
type Omission struct {
	At      string // a JSON pointer into the spec, of the schema that it is in
	Keyword string
}
