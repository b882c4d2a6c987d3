package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"
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

// classTable holds the class of every character below its length; few
// characters lie above (about 200 KiB, made on first use).
var classTable = sync.OnceValue(func() *[0x33480]uint8 {
	t := new([0x33480]uint8)
	fill := func(tab *unicode.RangeTable, class uint8) {
		for _, r := range tab.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				t[c] = class
			}
		}
		for _, r := range tab.R32 {
			for c := rune(r.Lo); c <= rune(r.Hi) && int(c) < len(t); c += rune(r.Stride) {
				t[c] = class
			}
		}
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
	switch {
	case unicode.Is(unicode.L, r):
		return classLetter, n
	case unicode.Is(unicode.N, r):
		return classNumber, n
	}
	return classOther, n
}
