// Package jsonread reads JSON that is not trusted or must be read fast, with jsontext.
//
// Object and Value read a client's JSON in one pass, with limits on values, nesting
// and the digits of numbers. They refuse duplicate keys and name their path. A
// Reader reads a text whose shape the caller knows, such as a file of a model.
package jsonread

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound the contents of a text.
type Limits struct {
	Values  int  // values and keys, except skimmed ones; a built value takes some 100 bytes
	Depth   int  // levels of nested arrays and objects
	Digits  int  // bytes of a number
	Repeats bool // an object may have a key more than once
}

// Way is how the value of a member is read.
type Way uint8

const (
	// Check reads the value within the limits and keeps nothing of it.
	Check Way = iota
	// Build also makes a value of it.
	Build
	// Skim checks the syntax only, for long lists with their own reader and bounds.
	Skim
)

// Builder makes values of the JSON. Texts become strings that share its memory, and
// true, false and null become Go's.
type Builder struct {
	Number func(digits string) any
	Array  func(elements []any) any
	Object func(keys []string, values []any) any
}

// Member is one member of an object.
type Member struct {
	Key   string
	Value []byte // valid JSON without white space around it; a part of the text, not to be changed
	Built any    // nil unless the way is Build
}

// Object reads a text that must be one object. It calls visit for each member in order,
// after the whole member was checked, and stops at the first error, its own or visit's.
//
// way chooses how a member is read. Its error ends the walk before the value is
// read. Without way all members are checked.
func Object(ctx context.Context, text []byte, limits Limits, build *Builder, way func(key string) (Way, error), visit func(Member) error) error {
	w, err := newWalk(ctx, text, limits, build)
	if err != nil {
		return err
	}
	if kind := w.from.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindInvalid {
		return &Error{Kind: NotObject, Found: string(kind)}
	}
	err = w.object(&keySet{}, func(key string) error {
		m, start, how := Member{Key: key}, w.offset(), Check
		var err error
		if way != nil {
			if how, err = way(key); err != nil {
				return err
			}
		}
		if how == Skim {
			err = w.broken(w.from.SkipValue())
		} else {
			m.Built, err = w.value(how == Build)
		}
		if err != nil || visit == nil {
			return err
		}
		m.Value = bytes.TrimLeft(text[start:w.offset()], space+":")
		return visit(m)
	})
	if err != nil {
		return err
	}
	return checkEnd(text, w.from)
}

// Value reads a text that must be one JSON value.
func Value(ctx context.Context, text []byte, limits Limits, build *Builder) (any, error) {
	w, err := newWalk(ctx, text, limits, build)
	if err != nil {
		return nil, err
	}
	v, err := w.value(true)
	if err != nil {
		return nil, err
	}
	return v, checkEnd(text, w.from)
}

// Elements calls visit for each element of an array that was checked before, in
// their order, and stops at the first error. It reports whether list is an array.
func Elements(list []byte, visit func(index int, value []byte) error) (isArray bool, err error) {
	from := decoder(list)
	if from.PeekKind() != jsontext.KindBeginArray {
		return false, nil
	}
	if _, err := from.ReadToken(); err != nil {
		return true, broken(from, list, err)
	}
	for i := 0; from.PeekKind() != jsontext.KindEndArray; i++ {
		value, err := from.ReadValue()
		if err != nil {
			return true, broken(from, list, err)
		}
		end := int(from.InputOffset())
		if err := visit(i, list[end-len(value):end]); err != nil {
			return true, err
		}
	}
	return true, nil
}

// Text is the text of a JSON string, false for another value. It shares the memory of
// value, which must not change any more. Half a surrogate pair becomes U+FFFD.
func Text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	text := value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		text, _ = jsontext.AppendUnquote(nil, value) // valid, so the error can be about surrogates only
	}
	return shared(text), true
}

// shared is text as a string, without copying it.
func shared(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

const space = " \t\r\n"

// checkEnd refuses what follows the value that a decoder has read.
func checkEnd(text []byte, from *jsontext.Decoder) error {
	if rest := bytes.TrimLeft(text[from.InputOffset():], space); len(rest) > 0 {
		return &Error{Kind: More, Offset: len(text) - len(rest)}
	}
	return nil
}

// decoderOptions: walk compares keys itself, to name the place of the second one, and
// unquoting handles surrogates.
var decoderOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// decoder reads text without copying it.
func decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), decoderOptions...)
}

// firstInvalid is the offset of the first byte that is not UTF-8.
func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(text)
}

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
