package jsonread

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxReaderDepth bounds the nesting of what a Reader reads; the files of models
// use about eight levels.
const maxReaderDepth = 64

// Reader reads the values of one text in their order, for a caller that knows
// its shape: each method reads the value that comes next. Its errors are *Error.
// Nothing is copied: what it returns may be a part of the text.
//
// Repeated keys are the caller's to refuse.
type Reader struct {
	from *jsontext.Decoder
	text []byte
}

// NewReader begins to read a text, which must be UTF-8.
func NewReader(text []byte) (*Reader, error) {
	if !utf8.Valid(text) {
		return nil, &Error{Kind: NotUTF8, Offset: firstInvalid(text)}
	}
	return &Reader{decoder(text), text}, nil
}

// Kind is the first character of the value that comes next: one of {["0tfn, or 0
// where there is none.
func (r *Reader) Kind() byte { return byte(r.from.PeekKind()) }

// Object calls member after each key; member must read its value. The key is
// good until member returns.
func (r *Reader) Object(member func(key []byte) error) error {
	return r.list('{', "an object", func() error {
		key, err := r.Text()
		if err != nil {
			return err
		}
		return member(key)
	})
}

// Array calls element before each element; element must read it.
func (r *Reader) Array(element func() error) error { return r.list('[', "an array", element) }

func (r *Reader) list(open byte, what string, visit func() error) error {
	if r.from.StackDepth() == maxReaderDepth {
		return &Error{Kind: TooDeep, Offset: int(r.from.InputOffset())}
	}
	token, err := r.from.ReadToken()
	if err != nil {
		return broken(r.from, r.text, err)
	}
	if byte(token.Kind()) != open {
		return &Error{Kind: Shape, Offset: int(r.from.InputOffset()), Found: what}
	}
	for r.Kind() != open+2 { // } and ] are two after { and [
		if err := visit(); err != nil {
			return err
		}
	}
	if _, err := r.from.ReadToken(); err != nil {
		return broken(r.from, r.text, err)
	}
	return nil
}

// Text reads a string.
func (r *Reader) Text() ([]byte, error) {
	value, err := r.from.ReadValue()
	if err != nil {
		return nil, broken(r.from, r.text, err)
	}
	if value[0] != '"' {
		return nil, r.unfit(value, "a string")
	}
	if text := value[1 : len(value)-1]; bytes.IndexByte(text, '\\') < 0 {
		return text, nil
	}
	text, _ := jsontext.AppendUnquote(nil, value)
	return text, nil
}

// Int reads a whole number of 64 bits.
func (r *Reader) Int() (int64, error) {
	value, err := r.from.ReadValue()
	if err != nil {
		return 0, broken(r.from, r.text, err)
	}
	n, failed := strconv.ParseInt(shared(value), 10, 64)
	if failed != nil {
		return 0, r.unfit(value, "a whole number of 64 bits")
	}
	return n, nil
}

// Raw reads any value and returns its text.
func (r *Reader) Raw() ([]byte, error) {
	start := r.from.InputOffset()
	if err := r.skip(); err != nil {
		return nil, err
	}
	return bytes.TrimLeft(r.text[start:r.from.InputOffset()], space+":,"), nil
}

func (r *Reader) skip() error {
	switch r.Kind() {
	case '{':
		return r.Object(func([]byte) error { return r.skip() })
	case '[':
		return r.Array(r.skip)
	}
	if _, err := r.from.ReadValue(); err != nil {
		return broken(r.from, r.text, err)
	}
	return nil
}

// Left is how much of the text is not read yet, in bytes.
func (r *Reader) Left() int { return len(r.text) - int(r.from.InputOffset()) }

// End checks that nothing follows.
func (r *Reader) End() error {
	if rest := bytes.TrimLeft(r.text[r.from.InputOffset():], space); len(rest) > 0 {
		return &Error{Kind: More, Offset: len(r.text) - len(rest)}
	}
	return nil
}

// unfit is the error for a value, which was just read, that is not what the
// caller reads.
func (r *Reader) unfit(value []byte, want string) error {
	return &Error{Kind: Shape, Offset: int(r.from.InputOffset()) - len(value), Found: want}
}
