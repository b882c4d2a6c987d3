package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// utf8Status says what a byte sequence begins with.
type utf8Status int

const (
	utf8Char    utf8Status = iota // a whole character
	utf8Invalid                   // a maximal invalid part, replaced by one U+FFFD
	utf8Partial                   // a character that goes on behind the end
)

const replacement = "\uFFFD"

// scanUTF8 looks at the start of p, which is not empty, and returns how many
// bytes the status covers (Unicode's "maximal subpart" rule, as in the WHATWG
// decoder and in Rust).
func scanUTF8[B string | []byte](p B) (int, utf8Status) {
	c := p[0]
	need, lo, hi := 0, byte(0x80), byte(0xBF)
	switch {
	case c < 0x80:
		return 1, utf8Char
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
		switch c {
		case 0xE0:
			lo = 0xA0
		case 0xED:
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		need = 3
		switch c {
		case 0xF0:
			lo = 0x90
		case 0xF4:
			hi = 0x8F
		}
	default:
		return 1, utf8Invalid
	}
	for i := 1; i <= need; i++ {
		if i == len(p) {
			return i, utf8Partial
		}
		if p[i] < lo || p[i] > hi {
			return i, utf8Invalid
		}
		lo, hi = 0x80, 0xBF
	}
	return need + 1, utf8Char
}

// lossy returns s with every maximal invalid part replaced by U+FFFD.
func lossy(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		n, status := scanUTF8(s)
		if status == utf8Char {
			b.WriteString(s[:n])
		} else {
			b.WriteString(replacement)
		}
		s = s[n:]
	}
	return b.String()
}

// lossyAt is lossy, with ranges of bytes that begin and end at whole characters.
func lossyAt(s string, ranges [][2]int) (string, [][2]int) {
	if utf8.ValidString(s) {
		return s, ranges
	}
	var b strings.Builder
	done := 0
	to := func(end int) int {
		if end = min(end, len(s)); end > done {
			b.WriteString(lossy(s[done:end]))
			done = end
		}
		return b.Len()
	}
	moved := make([][2]int, len(ranges))
	for i, r := range ranges {
		moved[i] = [2]int{to(r[0]), to(r[1])}
	}
	to(len(s))
	return b.String(), moved
}

// utf8Run turns bytes that arrive in pieces into whole characters. The zero
// value is an empty run.
type utf8Run struct {
	pending [4]byte // at most 3 between calls
	n       uint8
	text    bool // characters were completed since the run began
}

// push appends the characters that b completes.
func (r *utf8Run) push(dst []byte, b byte) []byte {
	r.pending[r.n] = b
	r.n++
	for r.n > 0 {
		n, status := scanUTF8(r.pending[:r.n])
		switch status {
		case utf8Partial:
			return dst
		case utf8Char:
			dst = append(dst, r.pending[:n]...)
		case utf8Invalid:
			dst = append(dst, replacement...)
		}
		r.n = uint8(copy(r.pending[:], r.pending[n:r.n]))
	}
	return dst
}

// end ends the run: a partial character becomes one U+FFFD.
func (r *utf8Run) end(dst []byte) []byte {
	if r.n > 0 {
		dst = append(dst, replacement...)
	}
	*r = utf8Run{}
	return dst
}
