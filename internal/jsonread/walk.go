package jsonread

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// walk goes through a text once.
type walk struct {
	ctx    context.Context
	text   []byte
	from   *jsontext.Decoder
	limits Limits
	left   int    // values that may still come
	depth  int    // of the value that comes next
	path   []step // to it
}

// step is a key or an index.
type step struct {
	key     string
	index   int
	isIndex bool
}

// checkEvery is how many values are read between two looks at the context.
const checkEvery = 1 << 12

func (w *walk) offset() int { return int(w.from.InputOffset()) }

// members reads the members of an object whose brace is read, and the brace at
// its end.
func (w *walk) members(skim func(string) (bool, error), visit func(Member) error) error {
	var seen keySet
	for w.from.PeekKind() != jsontext.KindEndObject {
		key, err := w.key(&seen)
		if err != nil {
			return err
		}
		m := Member{Key: key, End: w.offset()}
		skimmed := false
		if skim != nil {
			if skimmed, err = skim(key); err != nil {
				return err
			}
		}
		if skimmed {
			if err = w.from.SkipValue(); err != nil {
				err = w.broken(err)
			}
		} else {
			err = w.value()
		}
		if err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
		if visit != nil {
			m.Value = bytes.TrimLeft(w.text[m.End:w.offset()], space+":")
			if err := visit(m); err != nil {
				return err
			}
		}
	}
	if _, err := w.from.ReadToken(); err != nil { // }
		return w.broken(err)
	}
	return nil
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
	key, isText := Text(quoted)
	if !isText {
		return "", &Error{Kind: Syntax, Offset: w.offset() - len(quoted), Found: "object member name must be a string"}
	}
	w.path = append(w.path, step{key: key})
	if !seen.add(key) {
		return "", w.fault(Repeated)
	}
	return key, nil
}

// value reads the value that comes next, whatever it is.
func (w *walk) value() error {
	if err := w.count(); err != nil {
		return err
	}
	switch w.from.PeekKind() {
	case jsontext.KindBeginObject:
		return w.nested(func() error { return w.members(nil, nil) })
	case jsontext.KindBeginArray:
		return w.nested(w.elements)
	}
	value, err := w.from.ReadValue()
	switch {
	case err != nil:
		return w.broken(err)
	case value[0] != '"' && len(value) > w.limits.Digits:
		return w.fault(LongNumber)
	}
	return nil
}

// nested reads an array or an object, one level deeper.
func (w *walk) nested(inner func() error) error {
	if w.depth++; w.depth > w.limits.Depth {
		return w.fault(TooDeep)
	}
	if _, err := w.from.ReadToken(); err != nil {
		return w.broken(err)
	}
	err := inner()
	w.depth--
	return err
}

// elements reads the elements of an array whose bracket is read, and the one at
// its end.
func (w *walk) elements() error {
	w.path = append(w.path, step{isIndex: true})
	last := len(w.path) - 1
	for ; w.from.PeekKind() != jsontext.KindEndArray; w.path[last].index++ {
		if err := w.value(); err != nil {
			return err
		}
	}
	w.path = w.path[:last]
	if _, err := w.from.ReadToken(); err != nil { // ]
		return w.broken(err)
	}
	return nil
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
