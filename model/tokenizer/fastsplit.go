package tokenizer

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"
)

// The splitting patterns that have a hand-written splitter.
const (
	patternGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternQwen2  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// fastSplit returns the end of the match that starts at s[i], i < len(s).
// Every one of these patterns matches at every position.
type fastSplit func(s string, i int) int

var fastSplits = map[string]fastSplit{
	patternGPT2:   splitGPT2,
	patternLlama3: func(s string, i int) int { return splitLlama3(s, i, 3) },
	patternQwen2:  func(s string, i int) int { return splitLlama3(s, i, 1) },
}

func splitGPT2(s string, i int) int {
	if end := contraction(s, i, false); end > i {
		return end
	}
	t := classTable()
	class, size := classAt(t, s, i)
	if s[i] == ' ' && i+1 < len(s) {
		if next, n := classAt(t, s, i+1); next <= classNumber {
			return runEnd(t, s, i+1+n, next)
		}
	}
	if class <= classNumber {
		return runEnd(t, s, i+size, class)
	}
	end, last, _ := spaceRun(t, s, i)
	if end < len(s) && last > i {
		return last
	}
	return end
}

// splitLlama3 matches patternLlama3 with numbers of up to digits characters.
func splitLlama3(s string, i, digits int) int {
	if end := contraction(s, i, true); end > i {
		return end
	}
	t := classTable()
	class, size := classAt(t, s, i)
	switch class {
	case classLetter:
		return runEnd(t, s, i+size, classLetter)
	case classNumber:
		for end, n := i+size, 1; ; n++ {
			if n == digits || end == len(s) {
				return end
			}
			next, size := classAt(t, s, end)
			if next != classNumber {
				return end
			}
			end += size
		}
	case classOther, classSpace:
		if i+size < len(s) {
			next, n := classAt(t, s, i+size)
			if next == classLetter {
				return runEnd(t, s, i+size+n, classLetter)
			}
			if class == classOther || (s[i] == ' ' && next == classOther) {
				return newlinesEnd(s, runEnd(t, s, i+size, classOther))
			}
		} else if class == classOther {
			return i + size
		}
	}
	end, last, newline := spaceRun(t, s, i)
	switch {
	case newline > 0:
		return newline
	case end < len(s) && last > i:
		return last
	}
	return end
}

// contraction matches 's, 't, 're, 've, 'm, 'll or 'd at s[i].
func contraction(s string, i int, foldCase bool) int {
	if s[i] != '\'' {
		return i
	}
	rest := s[i+1 : min(i+3, len(s))]
	if foldCase {
		rest = strings.ToLower(rest)
		// The only letter beyond ASCII that folds to one of these.
		if strings.HasPrefix(rest, "ſ") {
			return i + 1 + len("ſ")
		}
	}
	for _, end := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
		if strings.HasPrefix(rest, end) {
			return i + 1 + len(end)
		}
	}
	return i
}

// runEnd returns the end of the run of characters of class from s[i] on.
func runEnd(t *[0x33480]uint8, s string, i int, class uint8) int {
	for i < len(s) {
		c, n := classAt(t, s, i)
		if c != class {
			break
		}
		i += n
	}
	return i
}

func newlinesEnd(s string, i int) int {
	for i < len(s) && (s[i] == '\r' || s[i] == '\n') {
		i++
	}
	return i
}

// spaceRun describes the run of white space at s[i], i included: its end, the
// start of its last character, and the end of its last CR or LF (0 without).
func spaceRun(t *[0x33480]uint8, s string, i int) (end, last, newline int) {
	end, last = i, i
	for end < len(s) {
		c, n := classAt(t, s, end)
		if c < classSpace {
			break
		}
		last = end
		end += n
		if c == classNewline {
			newline = end
		}
	}
	return end, last, newline
}

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
