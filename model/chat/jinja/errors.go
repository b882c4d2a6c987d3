package jinja

import (
	"cmp"
	"fmt"
	"unicode/utf8"
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

// Error is every failure of Parse and RenderMarked. Err, if set, is the cause: a
// LengthError or the error of a Function, which errors.As finds.
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

func (e *Error) Unwrap() error { return e.Err }

// LengthError is the cause of an Error when a text exceeds Limits.OutputBytes.
type LengthError struct {
	Bytes int // length of the text, at least
	Max   int
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("a text that the template renders has at least %d bytes; at most %d are allowed", e.Bytes, e.Max)
}

func failTooLong(n, most int) {
	cause := &LengthError{n, most}
	panic(&Error{Kind: LimitError, Msg: cause.Error(), Err: cause})
}

func newErr(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

func typeErr(format string, args ...any) *Error { return newErr(TypeError, format, args...) }

// Within the package a failure is a panic with an *Error, so that an expression
// reads as one. Parse and render recover it.

// recovered returns the failure among the results of recover, or nil. Other panics go on.
func recovered(p any) *Error {
	if e, ok := p.(*Error); ok || p == nil {
		return e
	}
	panic(p)
}

// locate fills in template and line where the error has none.
func (e *Error) locate(template string, line int) *Error {
	e.Template, e.Line = cmp.Or(e.Template, template), cmp.Or(e.Line, line)
	return e
}

// Rewriter is an error of a Function that may quote the client's text.
type Rewriter interface {
	error
	Rewrite(text func(string) string)
}

const maxQuote = 1 << 10 // bytes of an error's text

// forReaders puts characters for stand-ins into the error's texts and shortens them.
func (rt *runtime) forReaders(e *Error) *Error {
	text := func(s string) string {
		if s = rt.bare(s); len(s) <= maxQuote {
			return s
		}
		end := maxQuote
		for !utf8.RuneStart(s[end]) {
			end--
		}
		return s[:end] + "…"
	}
	e.Msg = text(e.Msg)
	if b, ok := e.Err.(Rewriter); ok {
		b.Rewrite(text)
	}
	return e
}
