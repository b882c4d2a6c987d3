package jinja

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func nameLen(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)
	})
	if end < 0 {
		return len(s)
	}
	return end
}

var (
	integer = regexp.MustCompile(`^\d+(_\d+)*`)
	number  = regexp.MustCompile(`^\d+(_\d+)*(\.\d+(_\d+)*)?([eE][+-]?\d+(_\d+)*)?`)
)

// number lexes the numeric literal at the start of rest.
func (lx *lexer) number(rest string) {
	kind, text := tokInt, integer.FindString(rest)
	if text == "0" && len(rest) > 1 && strings.IndexByte("xXoObB", rest[1]) >= 0 {
		lx.fail("the number %.2s… is not supported in chat templates; write it in decimal digits", rest)
	}
	if lx.src[lx.pos-1] != '.' { // x.0.1 has two subscripts, not a float
		if all := number.FindString(rest); all != text {
			kind, text = tokFloat, all
		}
	}
	lx.take(kind, text)
}

// str lexes a string literal with Python's escapes.
func (lx *lexer) str(rest string) {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			lx.emit(tokString, lx.unescape(rest[1:i]))
			lx.advance(i + 1)
			return
		}
	}
	lx.fail("unterminated string literal")
}

var simpleEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'v': '\v',
	'a': 7, '\\': '\\', '\'': '\'', '"': '"'}

// hexEscapes holds the number of hexadecimal digits that follow.
var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape resolves escapes as Python does; an unknown escape keeps its backslash.
func (lx *lexer) unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		start := i
		i++
		c := s[i]
		simple, isSimple := simpleEscapes[c]
		switch width := hexEscapes[c]; {
		case isSimple:
			b.WriteByte(simple)
		case width > 0:
			i = min(i+width, len(s)-1)
			n, err := strconv.ParseUint(s[start+2:i+1], 16, 32)
			if err != nil || n > utf8.MaxRune || i < start+1+width {
				lx.fail("bad escape %q in string literal", s[start:i+1])
			}
			b.WriteRune(rune(n))
		case c >= '0' && c <= '7':
			lx.fail("bad escape %q in string literal", s[start:i+1])
		case c != '\n':
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// intLiteral reads an integer literal of any size up to maxDigits.
func intLiteral(s string) expr {
	n, ok := parseInt(s)
	if !ok {
		panic(newErr(SyntaxError, "bad integer %.20q", s))
	}
	return &constExpr{n}
}
