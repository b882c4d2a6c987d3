package jsonread

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

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
	Shape           // another value than the caller reads there; Found is the one it wants
)

// Error is why a text is refused.
type Error struct {
	Kind   Kind
	Offset int    // where, in bytes
	Path   string // keys and indices that lead there, "" where they do not matter
	Found  string
}

// Error implements error. The API words its errors itself.
func (e *Error) Error() string {
	what := [...]string{NotUTF8: "the text is not UTF-8", Syntax: "the text is not JSON: " + e.Found, Cut: "the JSON is incomplete",
		NotObject: "the JSON is not an object", More: "more text follows the JSON", Repeated: "duplicate key", TooMany: "too many values",
		TooDeep: "arrays and objects are nested too deeply", LongNumber: "a number has too many digits", Shape: "the JSON must have " + e.Found + " here"}[e.Kind]
	if e.Path != "" {
		what += " (" + e.Path + ")"
	}
	return fmt.Sprintf("%s, at byte %d", what, e.Offset)
}

// broken converts an error of the decoder, nil if there is none.
func broken(from *jsontext.Decoder, text []byte, err error) error {
	if err == nil {
		return nil // before syntax, which is allocated
	}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Error{Kind: Cut, Offset: len(text)}
	case errors.As(err, &syntax):
		return &Error{Kind: Syntax, Offset: int(syntax.ByteOffset), Found: syntax.Err.Error()}
	}
	return &Error{Kind: Syntax, Offset: int(from.InputOffset()), Found: err.Error()}
}
