package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"
)

// Character classes of the well-known splitting patterns; a character is in
// exactly one of \p{L}, \p{N}, \s or none.
const (
	classOther = iota
	classLetter
	classNumber
	classSpace   // white space without CR and LF
	classNewline // CR and LF
)

// classTable holds the class of every character below its length; all above are
// of classOther (about 200 KiB, made on first use).
var classTable = sync.OnceValue(func() *[0x33480]uint8 {
	t := new([0x33480]uint8)
	fill := func(tab *unicode.RangeTable, class uint8) {
		rangetable.Visit(tab, func(r rune) { t[r] = class })
	}
	fill(unicode.L, classLetter)
	fill(unicode.N, classNumber)
	fill(unicode.White_Space, classSpace)
	t['\r'], t['\n'] = classNewline, classNewline
	return t
})

// classAt returns the class and the size in bytes of the character at s[i].
func classAt(t *[0x33480]uint8, s string, i int) (class uint8, size int) {
	if c := s[i]; c < utf8.RuneSelf {
		return t[c], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if int(r) < len(t) {
		return t[r], n
	}
	return classOther, n
}
