package jsonread

import "fmt"

// Kind is what is wrong with a text.
type Kind uint8

const (
	_          Kind = iota
	NotUTF8         // a byte is not UTF-8
	Syntax          // it is not JSON; Found says why
	Cut             // it ends too early
	NotObject       // it is another value; Found is its kind, a jsontext.Kind
	More            // something follows the value
	Repeated        // an object has a key twice; Path is the second one
	TooMany         // more values than Limits.Values
	TooDeep         // deeper than Limits.Depth
	LongNumber      // longer than Limits.Digits
)

// Error is why a text is refused.
type Error struct {
	Kind   Kind
	Offset int    // where, in bytes
	Path   string // keys and indices that lead there, "" where they do not matter
	Found  string
}

// Error implements error. Whoever shows it to a client words it himself.
func (e *Error) Error() string {
	return fmt.Sprintf("JSON at byte %d (%s): %s", e.Offset, e.Path, e.Found)
}
