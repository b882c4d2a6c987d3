package grammar

import (
	"errors"
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// ErrorKind tells apart whose fault an [Error] is.
type ErrorKind uint8

const (
	// Invalid: the source cannot be read.
	Invalid ErrorKind = iota
	// Unsupported: the source is legal, and uses what is not supported.
	Unsupported
	// Unsatisfiable: no text satisfies the grammar.
	Unsatisfiable
	// TooLarge: the grammar, or following this text through it, exceeds a limit.
	TooLarge
	// Rejected: the token or text is not allowed here.
	Rejected
	// NoToken: the grammar goes on, and no token of the vocabulary can.
	NoToken
)

// Error is what the functions of this package fail with.
type Error struct {
	Kind   ErrorKind
	At     string // a line and column, or a JSON pointer; may be empty
	Reason string
	Remedy string // may be empty
}

func (e *Error) Error() string {
	var parts []string
	if e.At != "" {
		parts = append(parts, e.At+": "+e.Reason)
	} else {
		parts = append(parts, e.Reason)
	}
	if e.Remedy != "" {
		parts = append(parts, e.Remedy)
	}
	return strings.Join(parts, "; ")
}

// asError translates the errors of the packages below.
func asError(err error) *Error {
	var own *Error
	var part *outputs.Error
	var source *cfg.Error
	var syntax *regex.SyntaxError
	var schema *jsonschema.Error
	var empty *cfg.EmptyError
	switch {
	case errors.As(err, &part):
		e := *asError(part.Err)
		e.At = outputs.Place(part.At, e.At)
		return &e
	case errors.As(err, &own):
		return own
	case errors.As(err, &source):
		return &Error{Invalid, source.At, source.Reason, source.Remedy}
	case errors.As(err, &syntax):
		return &Error{Invalid, "", syntax.Error(), ""}
	case errors.As(err, &schema):
		e := &Error{Unsupported, schema.Pointer, schema.Reason, ""}
		if schema.Keyword != "" {
			e.Reason = schema.Keyword + ": " + schema.Reason
		}
		if schema.Unsatisfiable() {
			e.Kind = Unsatisfiable
		}
		return e
	case errors.As(err, &empty):
		return &Error{Unsatisfiable, "", err.Error(), "loosen the grammar"}
	case errors.Is(err, regex.ErrLimit), errors.Is(err, cfg.ErrLimit):
		return &Error{TooLarge, "", err.Error(), "use a smaller grammar, or smaller counts"}
	case errors.Is(err, earley.ErrTooWide), errors.Is(err, earley.ErrFull):
		return &Error{TooLarge, "", err.Error(), "give the grammar fewer alternatives or smaller counts, or make it less ambiguous"}
	}
	return &Error{Invalid, "", err.Error(), ""}
}
