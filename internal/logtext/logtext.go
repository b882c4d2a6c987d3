// Package logtext keeps characters that steer a terminal or hide text out of
// logs and of what commands print: control characters, the marks that reverse
// the direction of a line, and the line ends of Unicode. Whoever can choose a
// file name, a model's name or an error of another server could otherwise forge
// lines of a log or change what a terminal shows.
//
// # Concurrency properties
//
//   - A writer of NewWriter keeps nothing between two writes and makes one write
//     of each, so it is as safe for concurrent use as the writer behind it.
package logtext

import (
	"io"
	"unicode/utf8"
)

// steers reports whether a character is written as an escape.
func steers(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f: // C0, DEL, C1
		return true
	case r < 0x61c:
		return false
	case r == 0x61c, r == 0x200e, r == 0x200f, // marks of direction
		r == 0x2028, r == 0x2029, // line and paragraph separator
		r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // embeddings, overrides, isolates
		return true
	}
	return false
}

// clean reports whether a text is printable ASCII but for one line end at its
// end: nearly every line is.
func clean[T ~string | ~[]byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && (c != '\n' || i < len(text)-1) {
			return false
		}
	}
	return true
}

const digits = "0123456789abcdef"

// appendEscaped writes a text with escapes as in JSON, so that a line of JSON
// reads as before. keep says which of the characters that steer stay at an
// offset; bytes that are no UTF-8 become U+FFFD, also a character that a write
// cuts in two: its halves must not meet on the other side.
func appendEscaped(to []byte, text []byte, keep func(at int) (bytes int)) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			to = append(to, "\ufffd"...)
		case steers(r):
			if kept := keep(i); kept > 0 {
				to = append(to, text[i:i+kept]...)
				n = kept
				break
			}
			to = append(to, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
		default:
			to = append(to, text[i:i+n]...)
		}
		i += n
	}
	return to
}

// Escape gives a text for one line.
func Escape(text string) string {
	if clean(text) && (text == "" || text[len(text)-1] != '\n') {
		return text
	}
	return string(appendEscaped(nil, []byte(text), func(int) int { return 0 }))
}

// Lines gives a text of several lines for a terminal: line ends and tabs stay.
func Lines(text string) string {
	if clean(text) {
		return text
	}
	b := []byte(text)
	return string(appendEscaped(nil, b, func(i int) int {
		if b[i] == '\n' || b[i] == '\t' {
			return 1
		}
		return 0
	}))
}

// NewWriter gives a writer of log lines, each written at once with the line end
// as its last byte; any other line end is escaped. With colours, the escape
// sequences that choose a colour stay.
func NewWriter(out io.Writer, colours bool) io.Writer { return &writer{out, colours} }

type writer struct {
	out     io.Writer
	colours bool
}

// Write implements io.Writer.
func (w *writer) Write(line []byte) (int, error) {
	if clean(line) {
		return w.out.Write(line)
	}
	escaped := appendEscaped(make([]byte, 0, len(line)+64), line, func(i int) int {
		if line[i] == '\n' && i == len(line)-1 {
			return 1
		}
		if w.colours {
			return colour(line[i:])
		}
		return 0
	})
	n, err := w.out.Write(escaped)
	if err == nil && n < len(escaped) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return min(n, len(line)), err
	}
	return len(line), nil
}

// colour is the length of a sequence ESC [ digits m, 0 for anything else.
func colour(text []byte) int {
	if len(text) < 3 || text[0] != 0x1b || text[1] != '[' {
		return 0
	}
	for i := 2; i < len(text) && i < 6; i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case c < '0' || c > '9':
			return 0
		}
	}
	return 0
}
