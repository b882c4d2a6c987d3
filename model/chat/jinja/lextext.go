package jinja

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			return i
		}
	}
	return len(s)
}

// digits returns the length of a run of decimal digits with single
// underscores between them.
func digits(s string) int {
	i := 0
	for i < len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			i++
		} else if s[i] == '_' && i > 0 && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' {
			i++
		} else {
			break
		}
	}
	return i
}

// number measures the numeric literal at the start of s.
func number(s string) (tokenKind, int) {
	kind, end := tokInt, digits(s)
	if end < len(s) && s[end] == '.' {
		if f := digits(s[end+1:]); f > 0 {
			kind, end = tokFloat, end+1+f
		}
	}
	if end < len(s) && (s[end] == 'e' || s[end] == 'E') {
		x := end + 1
		if x < len(s) && (s[x] == '+' || s[x] == '-') {
			x++
		}
		if f := digits(s[x:]); f > 0 {
			kind, end = tokFloat, x+f
		}
	}
	return kind, end
}

// str lexes a string literal with Python's escapes.
func (lx *lexer) str(rest string) error {
	q := rest[0]
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case q:
			v, bad := unescape(rest[1:i])
			if bad != "" {
				return lx.fail("bad escape %q in string literal", bad)
			}
			lx.emit(tokString, v)
			lx.advance(i + 1)
			return nil
		}
	}
	return lx.fail("unterminated string literal")
}

var simpleEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'v': '\v',
	'a': 7, '\\': '\\', '\'': '\'', '"': '"'}

// hexEscapes gives the number of hexadecimal digits that follow.
var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape resolves backslash escapes as Python does; an unknown escape keeps
// its backslash. bad is the offending escape, "" when all is well.
func unescape(s string) (v, bad string) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, ""
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if r, ok := simpleEscapes[c]; ok {
			b.WriteByte(r)
			continue
		}
		width := hexEscapes[c]
		switch {
		case width > 0:
			if i+1+width > len(s) {
				return "", s[i-1:]
			}
			n, err := strconv.ParseUint(s[i+1:i+1+width], 16, 32)
			if err != nil || n > utf8.MaxRune {
				return "", s[i-1 : i+1+width]
			}
			b.WriteRune(rune(n))
			i += width
		case c >= '0' && c <= '7': // octal
			return "", s[i-1 : i+1]
		case c == '\n':
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}
