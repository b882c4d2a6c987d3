package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// lossy returns s with every maximal invalid part replaced by U+FFFD.
func lossy(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var run utf8Run
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		out = run.push(out, s[i])
	}
	return string(append(out, run.end()...))
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

// utf8Run turns bytes that arrive in pieces into whole characters; ready as zero value.
type utf8Run struct {
	pending [4]byte // at most 3 between calls
	n       uint8
	text    bool // characters were completed since the run began
}

// push appends the characters that b completes, and U+FFFD for each maximal invalid part
// (Unicode's "maximal subpart" rule, as in the WHATWG decoder and in Rust).
func (r *utf8Run) push(dst []byte, b byte) []byte {
	r.pending[r.n] = b
	r.n++
	for r.n > 0 && utf8.FullRune(r.pending[:r.n]) {
		c, n := utf8.DecodeRune(r.pending[:r.n])
		if c == utf8.RuneError && n == 1 {
			for n < int(r.n) && !utf8.FullRune(r.pending[:n+1]) {
				n++ // they could have begun a character
			}
		}
		dst = utf8.AppendRune(dst, c)
		r.n = uint8(copy(r.pending[:], r.pending[n:r.n]))
	}
	return dst
}

// end ends the run. It returns U+FFFD for a character that is not complete.
func (r *utf8Run) end() string {
	partial := r.n > 0
	*r = utf8Run{}
	if partial {
		return string(utf8.RuneError)
	}
	return ""
}
