// Package jsonread reads JSON that is not trusted or must be read fast, with jsontext.
//
// Object and Value read a client's JSON in one pass, with limits on values, nesting
// and the digits of numbers. They refuse duplicate keys and name their path. A
// Reader reads a text whose shape the caller knows, such as a file of a model.
package jsonread

import (
	"bytes"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

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

// decoderOptions: walk finds repeated keys, to name them; unquoting handles surrogates.
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
