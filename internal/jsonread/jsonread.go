// Package jsonread reads JSON that is not trusted or must be read fast, with
// jsontext.
//
// Object and Value read a client's JSON in one pass, with limits on values, nesting
// and the digits of numbers. They refuse duplicate keys and name their path. A
// Reader reads a text whose shape the caller knows, such as a file of a model.
package jsonread

import (
	"bytes"
	"context"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound what a text may hold.
type Limits struct {
	// Values is how many values and keys there may be, except in what is
	// skimmed. A decoded value takes some 100 bytes.
	Values int
	// Depth is how deep arrays and objects may be nested.
	Depth int
	// Digits is the longest number, in bytes.
	Digits int
	// Repeats: a key may come more than once in an object.
	Repeats bool
}

// Way is what is done with the value of a member.
type Way uint8

const (
	// Check reads the value within the limits and keeps nothing of it.
	Check Way = iota
	// Build makes a value of it, too.
	Build
	// Skim checks the syntax alone. It is for long lists, which their own reader
	// bounds.
	Skim
)

// Builder makes values of what is read. Texts are strings that share the memory
// of what is read, true, false and null are Go's.
type Builder struct {
	Number func(digits string) any
	Array  func(elements []any) any
	Object func(keys []string, values []any) any
}

// Member is one member of an object.
type Member struct {
	Key string
	// Value is valid JSON without white space around it. It is a part of the
	// text and not to be changed.
	Value []byte
	Built any // what Build made
}

// Object calls visit for each member of the object that text must be, in their
// order. Everything in a member has been checked by then, and it stops at the
// first error, its own or one of visit.
//
// way says what is done with a member. It also sees the keys that are unknown,
// and its error ends the walk before their values are looked at.
func Object(ctx context.Context, text []byte, limits Limits, build *Builder, way func(key string) (Way, error), visit func(Member) error) error {
	w := walk{ctx: ctx, text: text, limits: limits, left: limits.Values, build: build}
	if err := w.start(); err != nil {
		return err
	}
	if kind := w.from.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindInvalid {
		return &Error{Kind: NotObject, Found: string(kind)}
	}
	if err := w.members(way, visit); err != nil {
		return err
	}
	return w.end()
}

// Value reads a text that must be one JSON value.
func Value(ctx context.Context, text []byte, limits Limits, build *Builder) (any, error) {
	w := walk{ctx: ctx, text: text, limits: limits, left: limits.Values, build: build}
	if err := w.start(); err != nil {
		return nil, err
	}
	v, err := w.value(true)
	if err == nil {
		err = w.end()
	}
	return v, err
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

// Text is the text of a JSON string, false for another value. A lone half of a
// surrogate pair becomes U+FFFD. The text shares the memory of value, which must
// not change from then on.
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

// decoderOptions: keys are compared here, since an error names where the second
// one is, and surrogates are left to the unquoting.
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
