package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
)

// What a client sends must not get into the log, and errors quote it. So each
// error has two texts, made from one format: the client reads all arguments, the
// log has "…" for every argument but those that are the server's own: marked
// with own, or the name of a parameter of the API. A new error that marks
// nothing shows nothing.

// say sets what an error says.
func (e *apiError) say(format string, args ...any) *apiError {
	kept := make([]any, len(args))
	for i, arg := range args {
		kept[i] = omitted{}
		switch a := arg.(type) {
		case ownWord:
			kept[i] = a
		case string:
			if name, ok := parameter(a); ok {
				kept[i] = name
			}
		}
	}
	e.Message, e.logged = fmt.Sprintf(format, args...), fmt.Sprintf(format, kept...)
	return e
}

// own marks an argument of say, invalid or internal as the server's own word: a
// limit, a count, a place, a setting. Never a value that a client sent.
func own(v any) ownWord { return ownWord{v} }

type ownWord struct{ value any }

// Format implements fmt.Formatter.
func (o ownWord) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), o.value) }

// omitted takes the place of an argument that is not shown.
type omitted struct{}

// Format implements fmt.Formatter.
func (omitted) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "…") }

// reason is why reading or writing failed, or a request ended, as an argument of
// say: our own word where it is an error of the system. Errors of net/http quote
// what they cannot read.
func reason(err error) any {
	var op *net.OpError
	var errno syscall.Errno
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, net.ErrClosed} {
		if errors.Is(err, known) {
			return own(known)
		}
	}
	switch {
	case errors.As(err, &op):
		return own(op)
	case errors.As(err, &errno):
		return own(errno)
	}
	return err
}

// parameter gives the name of a parameter as the log shows it, if the API has
// one of that name: its path without the indices, which a client can choose.
func parameter(path string) (name string, known bool) {
	if path == "" || len(path) > maxErrorParam {
		return "", false
	}
	var b strings.Builder
	for i, part := range strings.Split(path, ".") {
		base, indices, indexed := strings.Cut(part, "[")
		if !parameters()[base] || indexed && strings.Trim(indices, "[]0123456789") != "" {
			return "", false
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(base)
		if indexed {
			b.WriteString("[…]")
		}
	}
	return b.String(), true
}

// requestBodies are the bodies that endpoints take, and the objects within them.
var requestBodies = []any{chatRequest{}, completionRequest{}, generateRequest{}, nativeSampling{}, tokenizeRequest{}, detokenizeRequest{}, abortBody{},
	messageHead{}, contentPart{}}

// queries are the parameters behind a question mark.
var queries = []string{"depth", "nodes", "tokens", "format", "after"}

// parameters are all names of the API.
var parameters = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, name := range queries {
		names[name] = true
	}
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for name, f := range fieldsOf(t) {
			names[name] = true
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
				add(f.Type.Elem())
			}
		}
	}
	for _, body := range requestBodies {
		add(reflect.TypeOf(body))
	}
	return names
})
