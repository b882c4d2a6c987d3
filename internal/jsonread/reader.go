package jsonread

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxReaderDepth bounds the nesting for a Reader; models' files have about eight levels.
const maxReaderDepth = 64

// Reader reads the values of one text in order, for a caller that knows its shape: each
// method reads the next value. Errors are *Error. What it returns may be a part of the
// text. The caller must refuse repeated keys.
type Reader struct {
	from jsontext.Decoder
	buf  bytes.Buffer // what from reads from
	text []byte
}

// NewReader begins to read a text, which must be UTF-8.
func NewReader(text []byte) (*Reader, error) {
	if !utf8.Valid(text) {
		return nil, &Error{Kind: NotUTF8, Offset: firstInvalid(text)}
	}
	r := &Reader{}
	r.Reset(text)
	return r, nil
}

// Reset begins to read another text and allocates nothing. It does not check UTF-8.
func (r *Reader) Reset(text []byte) {
	r.text, r.buf = text, *bytes.NewBuffer(text)
	r.from.Reset(&r.buf, decoderOptions...)
}

// Kind is the first character of the next value, one of {["0tfn, or 0 without one.
func (r *Reader) Kind() byte { return byte(r.from.PeekKind()) }

// Object calls member after each key, valid until it returns; member must read the value.
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
		return r.broken(err)
	}
	if byte(token.Kind()) != open {
		return &Error{Kind: Shape, Offset: int(r.from.InputOffset()), Found: what}
	}
	for r.Kind() != open+2 { // } and ] are two after { and [
		if err := visit(); err != nil {
			return err
		}
	}
	_, err = r.from.ReadToken()
	return r.broken(err)
}

func (r *Reader) Text() ([]byte, error) {
	text, escaped, err := r.quoted()
	if err == nil && escaped {
		text, _ = jsontext.AppendUnquote(nil, text)
	}
	return text, err
}

// AppendText reads a string and appends it to dst.
func (r *Reader) AppendText(dst []byte) ([]byte, error) {
	text, escaped, err := r.quoted()
	if err == nil && escaped {
		dst, _ = jsontext.AppendUnquote(dst, text)
		return dst, nil
	}
	return append(dst, text...), err
}

// quoted reads a string. With escapes it still has its quotes.
func (r *Reader) quoted() (text []byte, escaped bool, err error) {
	value, err := r.from.ReadValue()
	if err != nil {
		return nil, false, r.broken(err)
	}
	if value[0] != '"' {
		return nil, false, r.unfit(value, "a string")
	}
	if text := value[1 : len(value)-1]; bytes.IndexByte(text, '\\') < 0 {
		return text, false, nil
	}
	return value, true, nil
}

func (r *Reader) Int() (int64, error) {
	value, err := r.from.ReadValue()
	if err != nil {
		return 0, r.broken(err)
	}
	n, failed := strconv.ParseInt(shared(value), 10, 64)
	if failed != nil {
		return 0, r.unfit(value, "a 64-bit integer without a decimal point or exponent")
	}
	return n, nil
}

// Raw reads any value and returns its text.
func (r *Reader) Raw() ([]byte, error) {
	start := r.from.InputOffset()
	if err := r.Skip(); err != nil {
		return nil, err
	}
	return bytes.TrimLeft(r.text[start:r.from.InputOffset()], space+":,"), nil
}

func (r *Reader) Skip() error {
	switch r.Kind() {
	case '{':
		return r.Object(func([]byte) error { return r.Skip() })
	case '[':
		return r.Array(r.Skip)
	}
	_, err := r.from.ReadValue()
	return r.broken(err)
}

// Left is how much of the text is not read yet, in bytes.
func (r *Reader) Left() int { return len(r.text) - int(r.from.InputOffset()) }

// Document is Object for a text that has nothing else.
func (r *Reader) Document(member func(key []byte) error) error {
	if err := r.Object(member); err != nil {
		return err
	}
	return r.End()
}

// End checks that nothing follows.
func (r *Reader) End() error { return checkEnd(r.text, &r.from) }

func (r *Reader) broken(err error) error { return broken(&r.from, r.text, err) }

// unfit is the error for a value that was just read and has another type.
func (r *Reader) unfit(value []byte, want string) error {
	return &Error{Kind: Shape, Offset: int(r.from.InputOffset()) - len(value), Found: want}
}
