package jinja

import (
	"errors"
	"fmt"
)

// Kinds of Error, named as Python names the exception.
const (
	SyntaxError    = "TemplateSyntaxError" // the source is not a template
	TypeError      = "TypeError"           // an operation does not fit its operands
	ValueError     = "ValueError"          // right type, unusable value
	UndefinedError = "UndefinedError"      // an undefined value was used
	SecurityError  = "SecurityError"       // the sandbox forbids it
	RuntimeError   = "TemplateRuntimeError"
	OverflowError  = "OverflowError"
	ZeroDivision   = "ZeroDivisionError"
	LimitError     = "LimitError" // a bound of Limits was reached
)

// Error is every failure of Parse and Render. Err, where set, is the cause
// given by a Function, so errors.As finds the caller's own error types.
type Error struct {
	Template string
	Line     int // 1-based; 0 = unknown
	Kind     string
	Msg      string
	Err      error
}

func (e *Error) Error() string {
	where := e.Template
	if where == "" {
		where = "template"
	}
	if e.Line > 0 {
		where = fmt.Sprintf("%s line %d", where, e.Line)
	}
	if e.Err != nil && e.Kind != LimitError {
		return where + ": " + e.Err.Error()
	}
	return where + ": " + e.Kind + ": " + e.Msg
}

// Unwrap returns the cause given by a Function, or nil.
func (e *Error) Unwrap() error { return e.Err }

// LengthError is the cause of an Error when a text exceeds Limits.OutputBytes.
type LengthError struct {
	Bytes int // at least so long would the text be
	Max   int
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("a text of %d bytes; at most %d are allowed", e.Bytes, e.Max)
}

// tooLong is the failure of a text that would have n bytes.
func tooLong(n, most int) error {
	cause := &LengthError{n, most}
	return &Error{Kind: LimitError, Msg: cause.Error(), Err: cause}
}

func newErr(kind, format string, args ...any) error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

func typeErr(format string, args ...any) error { return newErr(TypeError, format, args...) }

// locate fills in template and line where the error does not know them yet:
// the innermost statement wins.
func locate(err error, template string, line int) error {
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Template: template, Line: line, Kind: RuntimeError, Msg: err.Error(), Err: err}
	}
	if e.Line == 0 {
		e.Line = line
	}
	if e.Template == "" {
		e.Template = template
	}
	return err
}
