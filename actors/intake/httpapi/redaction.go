package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// What a client sends must not get into the log, and errors quote it. So each error has
// two texts from one format. The client's text has all arguments. The log's has "…" for
// all but names of parameters and arguments that are marked as the server's with own.

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

// own marks an argument of say as the server's: a limit, a count, a place or a setting,
// never a value that a client sent.
func own(v any) ownWord { return ownWord{v} }

type ownWord struct{ value any }

func (o ownWord) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), o.value) }

// omitted takes the place of an argument that is not shown.
type omitted struct{}

func (omitted) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "…") }

// reason is an error of reading or writing as an argument of say: own if it is the
// system's, not if it is net/http's, which quotes what it cannot read.
func reason(err error) any {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, net.ErrClosed} {
		if errors.Is(err, known) {
			return own(known)
		}
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return own(op)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return own(errno)
	}
	return err
}
