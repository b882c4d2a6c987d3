package jsonschema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
)

// kind is the type of a JSON value.
type kind uint8

const (
	kindNull kind = iota
	kindFalse
	kindTrue
	kindNumber
	kindString
	kindArray
	kindObject
)

func (k kind) String() string {
	return [...]string{"null", "false", "true", "a number", "a string", "an array", "an object"}[k]
}

// value is a JSON value that knows where it stands. It does not change after
// it was read.
type value struct {
	kind   kind
	text   string // of a string: decoded; of a number: as written
	items  []*value
	names  []string       // of an object, in order; items has the values
	index  map[string]int // of a long object
	parent *value
	at     string // name or index in the parent
}

// longObject is the number of properties from which on a map is worth it.
const longObject = 12

// get returns the value of a property, nil where there is none.
func (v *value) get(name string) *value {
	if v.kind != kindObject {
		return nil
	}
	if v.index != nil {
		if i, ok := v.index[name]; ok {
			return v.items[i]
		}
		return nil
	}
	for i, n := range v.names {
		if n == name {
			return v.items[i]
		}
	}
	return nil
}

// isTrue reports whether v is there and true.
func (v *value) isTrue() bool { return v != nil && v.kind == kindTrue }

// pointer returns the JSON pointer of v in its document.
func (v *value) pointer() string {
	var parts []string
	for ; v != nil && v.parent != nil; v = v.parent {
		parts = append(parts, v.at)
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(cfg.PointerPart(parts[i]))
	}
	return b.String()
}

// readLimits bound a document. They are hard.
type readLimits struct {
	bytes, values, depth int
}

// read reads one JSON document. Names of an object keep their order; a name
// that stands twice is refused, as it is not said which of the two is meant.
func read(text []byte, limits readLimits) (*value, error) {
	if len(text) > limits.bytes {
		return nil, &Error{Reason: fmt.Sprintf("the schema has %d bytes; at most %d are read", len(text), limits.bytes)}
	}
	r := reader{from: jsontext.NewDecoder(bytes.NewBuffer(text)), limits: limits}
	v, err := r.value(0)
	if err != nil {
		return nil, r.place(err)
	}
	if _, err := r.from.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &Error{Reason: "text follows the schema"}
	}
	return v, nil
}

type reader struct {
	from   *jsontext.Decoder
	limits readLimits
	count  int
}

// place words an error of the decoder.
func (r *reader) place(err error) error {
	var ours *Error
	if errors.As(err, &ours) {
		ours.Pointer = string(r.from.StackPointer())
		return ours
	}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax):
		return &Error{Pointer: string(syntax.JSONPointer), Reason: "the schema is not JSON: " + syntax.Err.Error()}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Pointer: string(r.from.StackPointer()), Reason: "the schema is not JSON: it ends too early"}
	}
	return &Error{Pointer: string(r.from.StackPointer()), Reason: "the schema is not JSON: " + err.Error()}
}

func (r *reader) value(depth int) (*value, error) {
	if r.count++; r.count > r.limits.values {
		return nil, &Error{Reason: fmt.Sprintf("the schema has more than %d values", r.limits.values)}
	}
	if depth > r.limits.depth {
		return nil, &Error{Reason: fmt.Sprintf("the schema is nested deeper than %d levels", r.limits.depth)}
	}
	token, err := r.from.ReadToken()
	if err != nil {
		return nil, err
	}
	v := &value{}
	switch token.Kind() {
	case 'n':
		v.kind = kindNull
	case 'f':
		v.kind = kindFalse
	case 't':
		v.kind = kindTrue
	case '"':
		v.kind, v.text = kindString, token.String()
	case '0':
		v.kind, v.text = kindNumber, token.String()
	case '[':
		v.kind = kindArray
		for r.from.PeekKind() != ']' {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			item.parent, item.at = v, strconv.Itoa(len(v.items))
			v.items = append(v.items, item)
		}
		_, err = r.from.ReadToken()
	default: // '{', as a value cannot begin with anything else
		v.kind = kindObject
		for r.from.PeekKind() != '}' {
			name, err := r.from.ReadToken()
			if err != nil {
				return nil, err
			}
			text := name.String()
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			item.parent, item.at = v, text
			v.names, v.items = append(v.names, text), append(v.items, item)
		}
		if len(v.names) > longObject {
			v.index = make(map[string]int, len(v.names))
			for i, n := range v.names {
				v.index[n] = i
			}
		}
		_, err = r.from.ReadToken()
	}
	return v, err
}
