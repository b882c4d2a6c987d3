package jsonread

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

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
	Check Way = iota // reads the value within the limits and keeps nothing of it
	Build            // also makes a value of it
	Skim             // checks the syntax only, for long lists with their own reader and bounds
)

// Builder makes values of the JSON. Strings share its memory; true, false, null are Go's.
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
// way chooses how a member is read; its error ends the walk before that. Nil: Check.
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

// walk goes through a text once.
type walk struct {
	ctx    context.Context
	text   []byte
	from   *jsontext.Decoder
	build  *Builder
	limits Limits
	left   int        // values that are still allowed
	depth  int        // of the next value
	path   []pathElem // to it
}

// pathElem is a key or an index.
type pathElem struct {
	key     string
	index   int
	isIndex bool
}

func (w *walk) offset() int { return int(w.from.InputOffset()) }

// newWalk checks the encoding in a pass of its own: that is fast, and jsontext would
// also refuse a lone half of a surrogate pair.
func newWalk(ctx context.Context, text []byte, limits Limits, build *Builder) (walk, error) {
	if !utf8.Valid(text) {
		return walk{}, &Error{Kind: NotUTF8, Offset: firstInvalid(text)}
	}
	return walk{ctx: ctx, text: text, from: decoder(text), build: build, limits: limits, left: limits.Values}, nil
}

func (w *walk) broken(err error) error {
	err = broken(w.from, w.text, err)
	// A skimmed value has jsontext's own limit on depth, whose error is not exported.
	if e, ok := err.(*Error); ok && e.Found == "exceeded max depth" {
		return w.fault(TooDeep)
	}
	return err
}

// object reads an object. member reads the value after each key.
func (w *walk) object(seen *keySet, member func(key string) error) error {
	if _, err := w.from.ReadToken(); err != nil { // {
		return w.broken(err)
	}
	for w.from.PeekKind() != jsontext.KindEndObject {
		key, err := w.key(seen)
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, err := w.from.ReadToken() // }
	return w.broken(err)
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

// value reads the next value and, if build, returns what is made of it.
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
		if kind == jsontext.KindBeginArray {
			return w.array(build)
		}
		seen, values := keySet{keep: build}, []any(nil)
		err := w.object(&seen, func(string) error {
			v, err := w.value(build)
			if build {
				values = append(values, v)
			}
			return err
		})
		if err != nil || !build {
			return nil, err
		}
		return w.build.Object(seen.keys, values), nil
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

func (w *walk) array(build bool) (any, error) {
	if _, err := w.from.ReadToken(); err != nil { // [
		return nil, w.broken(err)
	}
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
	if _, err := w.from.ReadToken(); err != nil || !build { // ]
		return nil, w.broken(err)
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

const (
	checkEvery = 1 << 12 // values between two checks of the context
	fewKeys    = 16      // are compared one by one
	maxPathKey = 64      // bytes of a key in an error's path
	maxPath    = 400     // bytes of that path
)

// keySet holds the keys of an object so far.
type keySet struct {
	keep bool            // all of keys are needed
	keys []string        // in their order; without keep, the first ones
	many map[string]bool // all of them, once comparing with each is slow
}

// add appends a key and reports whether it is new.
func (s *keySet) add(key string) bool {
	old := s.many[key] || s.many == nil && slices.Contains(s.keys, key)
	if s.keep || s.many == nil {
		s.keys = append(s.keys, key)
	}
	switch {
	case s.many != nil:
		s.many[key] = true
	case len(s.keys) > fewKeys:
		s.many = make(map[string]bool, 2*len(s.keys))
		for _, k := range s.keys {
			s.many[k] = true
		}
	}
	return !old
}
