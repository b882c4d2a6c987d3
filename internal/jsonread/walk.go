package jsonread

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// walk goes through a text once.
type walk struct {
	ctx    context.Context
	text   []byte
	from   *jsontext.Decoder
	build  *Builder
	limits Limits
	left   int        // values that may still come
	depth  int        // of the value that comes next
	path   []pathElem // to it
}

// pathElem is a key or an index.
type pathElem struct {
	key     string
	index   int
	isIndex bool
}

// checkEvery is how many values are read between two looks at the context.
const checkEvery = 1 << 12

func (w *walk) offset() int { return int(w.from.InputOffset()) }

// start checks the encoding, in a pass of its own: it is quick, and jsontext
// would refuse a lone half of a surrogate pair with it.
func (w *walk) start() error {
	if !utf8.Valid(w.text) {
		return &Error{Kind: NotUTF8, Offset: firstInvalid(w.text)}
	}
	w.from = decoder(w.text)
	return nil
}

// end checks that nothing follows the value.
func (w *walk) end() error {
	if rest := bytes.TrimLeft(w.text[w.offset():], space); len(rest) > 0 {
		return &Error{Kind: More, Offset: len(w.text) - len(rest)}
	}
	return nil
}

// members reads the object that all of the text is.
func (w *walk) members(way func(string) (Way, error), visit func(Member) error) error {
	if _, err := w.from.ReadToken(); err != nil { // {
		return w.broken(err)
	}
	var seen keySet
	for w.from.PeekKind() != jsontext.KindEndObject {
		key, err := w.key(&seen)
		if err != nil {
			return err
		}
		m, start, how := Member{Key: key}, w.offset(), Check
		if way != nil {
			if how, err = way(key); err != nil {
				return err
			}
		}
		if how == Skim {
			if err = w.from.SkipValue(); err != nil {
				err = w.broken(err)
			}
		} else {
			m.Built, err = w.value(how == Build)
		}
		if err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
		if visit != nil {
			m.Value = bytes.TrimLeft(w.text[start:w.offset()], space+":")
			if err := visit(m); err != nil {
				return err
			}
		}
	}
	_, err := w.from.ReadToken() // }
	return w.broken(err)
}

// broken is an error of the decoder as one of ours.
func (w *walk) broken(err error) error {
	if err == nil {
		return nil
	}
	return broken(w.from, w.text, err)
}

// key reads a key, which ends the path then.
func (w *walk) key(seen *keySet) (string, error) {
	if err := w.count(); err != nil {
		return "", err
	}
	quoted, err := w.from.ReadValue()
	if err != nil {
		return "", w.broken(err)
	}
	end := w.offset()
	key, isText := Text(w.text[end-len(quoted) : end])
	if !isText {
		return "", &Error{Kind: Syntax, Offset: end - len(quoted), Found: "object member name must be a string"}
	}
	w.path = append(w.path, pathElem{key: key})
	if !seen.add(key) && !w.limits.Repeats {
		return "", w.fault(Repeated)
	}
	return key, nil
}

// value reads the value that comes next, whatever it is, and returns what is
// made of it if build.
func (w *walk) value(build bool) (any, error) {
	if err := w.count(); err != nil {
		return nil, err
	}
	kind := w.from.PeekKind()
	if kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray {
		if w.depth++; w.depth > w.limits.Depth {
			return nil, w.fault(TooDeep)
		}
		defer func() { w.depth-- }()
		if _, err := w.from.ReadToken(); err != nil {
			return nil, w.broken(err)
		}
		if kind == jsontext.KindBeginObject {
			return w.object(build)
		}
		return w.array(build)
	}
	value, err := w.from.ReadValue()
	switch {
	case err != nil:
		return nil, w.broken(err)
	case kind == '0' && len(value) > w.limits.Digits:
		return nil, w.fault(LongNumber)
	case !build:
		return nil, nil
	}
	// jsontext's value may be a buffer of its own; the text stays.
	end := w.offset()
	value = w.text[end-len(value) : end]
	switch kind {
	case '"':
		text, _ := Text(value)
		return text, nil
	case '0':
		return w.build.Number(shared(value)), nil
	case 'n':
		return nil, nil
	}
	return kind == 't', nil
}

// object reads the members of an object whose brace is read, and its end.
func (w *walk) object(build bool) (any, error) {
	seen := keySet{keep: build}
	var values []any
	for w.from.PeekKind() != jsontext.KindEndObject {
		if _, err := w.key(&seen); err != nil {
			return nil, err
		}
		v, err := w.value(build)
		if err != nil {
			return nil, err
		}
		w.path = w.path[:len(w.path)-1]
		if build {
			values = append(values, v)
		}
	}
	if _, err := w.from.ReadToken(); err != nil { // }
		return nil, w.broken(err)
	}
	if !build {
		return nil, nil
	}
	return w.build.Object(seen.keys, values), nil
}

// array reads the elements of an array whose bracket is read, and its end.
func (w *walk) array(build bool) (any, error) {
	w.path = append(w.path, pathElem{isIndex: true})
	last := len(w.path) - 1
	var elements []any
	for ; w.from.PeekKind() != jsontext.KindEndArray; w.path[last].index++ {
		v, err := w.value(build)
		if err != nil {
			return nil, err
		}
		if build {
			elements = append(elements, v)
		}
	}
	w.path = w.path[:last]
	if _, err := w.from.ReadToken(); err != nil { // ]
		return nil, w.broken(err)
	}
	if !build {
		return nil, nil
	}
	return w.build.Array(elements), nil
}

// count takes one more value, before it is read.
func (w *walk) count() error {
	if w.left--; w.left < 0 {
		return w.fault(TooMany)
	}
	if w.left%checkEvery == 0 {
		return w.ctx.Err()
	}
	return nil
}

// fault is an error at the end of the path.
func (w *walk) fault(kind Kind) *Error {
	var name bytes.Buffer
	for i, at := range w.path {
		switch {
		case at.isIndex:
			fmt.Fprintf(&name, "[%d]", at.index)
			continue
		case i > 0:
			name.WriteByte('.')
		}
		name.WriteString(at.key[:min(len(at.key), maxPathKey)])
		if name.Len() > maxPath {
			break
		}
	}
	return &Error{Kind: kind, Offset: w.offset(), Path: string(bytes.ToValidUTF8(name.Bytes(), nil))}
}

// Bounds of a path in an error, in bytes.
const (
	maxPathKey = 64
	maxPath    = 400
)
