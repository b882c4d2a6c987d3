// Package logtext escapes characters that control a terminal or hide text, in logs and in
// the output of commands. These are control characters, marks that reverse the direction
// of a line, and line ends of Unicode. In a file name, a model's name or an error of
// another server, they could forge lines of a log or change what a terminal shows.
//
// A writer of this package turns each write into one write and keeps no state, so it is
// as safe for concurrent use as the underlying writer.
package logtext

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean reports whether a text is printable ASCII, perhaps with a line end, as most are.
func clean[T ~string | ~[]byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && (c != '\n' || i < len(text)-1) {
			return false
		}
	}
	return true
}

// keep returns how many bytes of a text stay unchanged at a character that is to be escaped.
type keep func(text []byte, at int) (bytes int)

func nothing([]byte, int) int { return 0 }

// layout keeps line ends and tabs.
func layout(text []byte, at int) int {
	if text[at] == '\n' || text[at] == '\t' {
		return 1
	}
	return 0
}

// prose also keeps marks of direction.
func prose(text []byte, at int) int {
	if r, n := utf8.DecodeRune(text[at:]); r >= 0x61c {
		return n
	}
	return layout(text, at)
}

// lineEnd keeps the last line end.
func lineEnd(text []byte, at int) int {
	if at == len(text)-1 && text[at] == '\n' {
		return 1
	}
	return 0
}

// colours also keeps sequences ESC [ digits m.
func colours(text []byte, at int) int {
	if text[at] != 0x1b || at+1 == len(text) || text[at+1] != '[' {
		return lineEnd(text, at)
	}
	for i := at + 2; i < min(len(text), at+6); i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1 - at
		case c < '0' || c > '9':
			return 0
		}
	}
	return 0
}

// appendEscaped writes a text with escapes as in JSON, so that a line of JSON
// keeps its meaning. Bytes that are not UTF-8 become U+FFFD. That includes a
// character that is split over two writes: its halves must not meet in the output.
func appendEscaped(to, text []byte, keep keep) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			to = append(to, "\ufffd"...)
		case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control):
			if kept := keep(text, i); kept > 0 {
				to = append(to, text[i:i+kept]...)
				n = kept
			} else {
				to = fmt.Appendf(to, "\\u%04x", r)
			}
		default:
			to = append(to, text[i:i+n]...)
		}
		i += n
	}
	return to
}

// Escape returns a text for one line.
func Escape(text string) string {
	if strings.HasSuffix(text, "\n") {
		return string(appendEscaped(nil, []byte(text), nothing))
	}
	return escaped(text, nothing)
}

// Lines returns a text of several lines for a terminal: line ends and tabs stay.
func Lines(text string) string { return escaped(text, layout) }

// Prose is Lines for a model's output, with marks of direction for right-to-left scripts.
func Prose(text string) string { return escaped(text, prose) }

func escaped(text string, keep keep) string {
	if clean(text) {
		return text
	}
	return string(appendEscaped(nil, []byte(text), keep))
}

// NewWriter returns a writer of log lines. Each write is one line with its line end;
// other line ends are escaped. With coloured, the sequences that choose a colour stay.
func NewWriter(out io.Writer, coloured bool) io.Writer {
	if coloured {
		return &writer{out, colours}
	}
	return &writer{out, lineEnd}
}

// NewTerminal returns a writer of text as from Lines. Writes have whole characters.
func NewTerminal(out io.Writer) io.Writer { return &writer{out, layout} }

type writer struct {
	out  io.Writer
	keep keep
}

func (w *writer) Write(text []byte) (int, error) {
	if clean(text) {
		return w.out.Write(text)
	}
	escaped := appendEscaped(make([]byte, 0, len(text)+64), text, w.keep)
	n, err := w.out.Write(escaped)
	if err == nil && n < len(escaped) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return min(n, len(text)), err
	}
	return len(text), nil
}
