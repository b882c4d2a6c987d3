// Package jsonread reads the JSON of clients in one pass and within bounds.
//
// Nothing is decoded here: a caller gets the members of an object as parts of
// the text, after the whole value was checked. What it decodes then has known
// bounds on its values, its nesting and its numbers, and names every key once.
package jsonread

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

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
}

// Member is one member of an object.
type Member struct {
	Key string
	// Value is valid JSON without white space around it. It is a part of the
	// text and not to be changed.
	Value []byte
	// End is the offset of the byte behind the key.
	End int
}

// Object calls visit for each member of the object that text must be, in their
// order. Everything in a member has been checked by then, and it stops at the
// first error, its own or one of visit.
//
// The value of a member that skim picks is checked for its syntax alone: it is
// for long lists, which their own reader bounds. skim also sees the keys that
// are unknown, and its error ends the walk before their values are looked at.
func Object(ctx context.Context, text []byte, limits Limits, skim func(key string) (bool, error), visit func(Member) error) error {
	if !utf8.Valid(text) {
		return &Error{Kind: NotUTF8, Offset: firstInvalid(text)}
	}
	w := walk{ctx: ctx, text: text, limits: limits, left: limits.Values, from: decoder(text)}
	if kind := w.from.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindInvalid {
		return &Error{Kind: NotObject, Found: string(kind)}
	}
	if _, err := w.from.ReadToken(); err != nil {
		return w.broken(err)
	}
	if err := w.members(skim, visit); err != nil {
		return err
	}
	end := w.offset()
	if rest := bytes.TrimLeft(text[end:], space); len(rest) > 0 {
		return &Error{Kind: More, Offset: len(text) - len(rest)}
	}
	return nil
}

// Elements calls visit for each element of an array that was checked before, in
// their order, and stops at the first error. It reports whether list is an array.
func Elements(list []byte, visit func(index int, value []byte) error) (isArray bool, err error) {
	w := walk{text: list, from: decoder(list)}
	if w.from.PeekKind() != jsontext.KindBeginArray {
		return false, nil
	}
	if _, err := w.from.ReadToken(); err != nil {
		return true, w.broken(err)
	}
	for i := 0; w.from.PeekKind() != jsontext.KindEndArray; i++ {
		value, err := w.from.ReadValue()
		if err != nil {
			return true, w.broken(err)
		}
		end := w.offset()
		if err := visit(i, list[end-len(value):end]); err != nil {
			return true, err
		}
	}
	return true, nil
}

// Text is the text of a JSON string, false for another value. A lone half of a
// surrogate pair becomes U+FFFD.
func Text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	text, _ := jsontext.AppendUnquote(nil, value) // valid, so the error can be about surrogates only
	return string(text), true
}

const space = " \t\r\n"

// decoder reads text without copying it. Keys are compared here, since an error
// names where the second one is, and surrogates are left to the unquoting.
func decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
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

// broken is an error of the decoder as one of ours.
func (w *walk) broken(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Error{Kind: Cut, Offset: len(w.text)}
	case errors.As(err, &syntax):
		return &Error{Kind: Syntax, Offset: int(syntax.ByteOffset), Found: syntax.Err.Error()}
	}
	return &Error{Kind: Syntax, Offset: w.offset(), Found: err.Error()}
}
