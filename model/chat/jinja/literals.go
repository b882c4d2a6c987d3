package jinja

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	identifier = regexp.MustCompile(`^[\pL_][\pL_\p{Nd}\p{Mn}]*`)
	integer    = regexp.MustCompile(`^\d+(_\d+)*`)
	number     = regexp.MustCompile(`^\d+(_\d+)*(\.\d+(_\d+)*)?([eE][+-]?\d+(_\d+)*)?`)
	quoted     = regexp.MustCompile(`(?s)^(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")`)
)

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

func (lx *lexer) str(rest string) {
	text := quoted.FindString(rest)
	if text == "" {
		lx.fail("unterminated string literal")
	}
	lx.emit(tokString, lx.unescape(text[1:len(text)-1]))
	lx.advance(len(text))
}

var simpleEscapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v",
	'a': "\a", '\\': "\\", '\'': "'", '"': "\"", '\n': ""}

// escapes are as long as they can be; unescape refuses those with fewer digits.
var escapes = regexp.MustCompile(`(?s)\\(?:x.{0,2}|u.{0,4}|U.{0,8}|.)`)

// hexDigits holds the number of hexadecimal digits that follow.
var hexDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape resolves escapes as Python does; an unknown escape keeps its backslash.
func (lx *lexer) unescape(s string) string {
	return escapes.ReplaceAllStringFunc(s, func(escape string) string {
		c := escape[1]
		if text, ok := simpleEscapes[c]; ok {
			return text
		}
		n, err := strconv.ParseUint(escape[2:], 16, 32)
		switch width := hexDigits[c]; {
		case width > 0 && (err != nil || n > utf8.MaxRune || len(escape) < 2+width), c >= '0' && c <= '7':
			lx.fail("bad escape %q in string literal", escape)
		case width > 0:
			return string(rune(n))
		}
		return escape
	})
}

// intLiteral reads an integer literal of any size up to maxDigits.
func intLiteral(s string) expr {
	n, ok := parseInt(s)
	if !ok {
		panic(newErr(SyntaxError, "bad integer %.20q", s))
	}
	return &constExpr{n}
}
