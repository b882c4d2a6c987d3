package jinja

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokData
	tokVarBegin
	tokVarEnd
	tokBlockBegin
	tokBlockEnd
	tokName
	tokString
	tokInt
	tokFloat
	tokOp
)

// token is one lexical element. text is the source text, for strings the
// unescaped value, for operators the operator itself.
type token struct {
	kind tokenKind
	text string
	line int
}

// tokenNames are those of the tokens that can be in a wrong place.
var tokenNames = map[tokenKind]string{
	tokEOF: "end of template", tokVarEnd: "end of print statement", tokBlockEnd: "end of statement block",
}

func (t token) describe() string { return cmp.Or(tokenNames[t.kind], "'"+t.text+"'") }

// lexer splits a source with the whitespace rules of trim_blocks and lstrip_blocks: a
// newline after a block or comment is dropped, blanks from the start of a line to a block
// or comment also; "-" strips all whitespace on its side, "+" keeps it.
type lexer struct {
	src  string
	pos  int
	line int
	toks []token
}

// lex returns the tokens of a template, ended by tokEOF.
func lex(src string) []token {
	src = newlines.Replace(src)
	// keep_trailing_newline is off: one newline at the very end is not text.
	src = strings.TrimSuffix(src, "\n")
	lx := &lexer{src: src, line: 1}
	for lx.pos < len(lx.src) {
		lx.root()
	}
	lx.emit(tokEOF, "")
	return lx.toks
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (lx *lexer) emit(k tokenKind, text string) {
	lx.toks = append(lx.toks, token{k, text, lx.line})
}

func (lx *lexer) fail(format string, args ...any) {
	panic(newErr(SyntaxError, format, args...).locate("", lx.line))
}

func (lx *lexer) advance(n int) {
	lx.line += strings.Count(lx.src[lx.pos:lx.pos+n], "\n")
	lx.pos += n
}

// root consumes text up to the next tag and the tag itself.
func (lx *lexer) root() {
	rest := lx.src[lx.pos:]
	tag := tagStart.FindStringIndex(rest)
	if tag == nil {
		lx.take(tokData, rest)
		return
	}
	at, end := tag[0], tag[1]
	kind := rest[at+1]
	if kept := lx.leading(rest[:at], kind, rest[end-1]); kept != "" {
		lx.emit(tokData, kept)
	}
	lx.advance(end)
	switch kind {
	case '#':
		lx.comment()
	case '{':
		lx.emit(tokVarBegin, "{{")
		lx.tag("}}", tokVarEnd)
	default:
		lx.emit(tokBlockBegin, "{%")
		lx.tag("%}", tokBlockEnd)
	}
}

var tagStart = regexp.MustCompile(`\{[{%#][-+]?`)

// leading applies the whitespace rule on the left of a tag, by its sign if it has one.
func (lx *lexer) leading(text string, kind, sign byte) string {
	if sign == '-' {
		return strings.TrimRightFunc(text, isSpace)
	}
	if sign == '+' || kind == '{' {
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	startsLine := line > 0 || lx.pos == 0 || lx.src[lx.pos-1] == '\n'
	if startsLine && strings.TrimLeftFunc(text[line:], isSpace) == "" {
		return text[:line]
	}
	return text
}

// closing consumes whitespace after a tag: all after "-", one newline where trim applies.
func (lx *lexer) closing(strip, trim bool) {
	rest := lx.src[lx.pos:]
	switch {
	case strip:
		lx.advance(len(rest) - len(strings.TrimLeftFunc(rest, isSpace)))
	case trim && strings.HasPrefix(rest, "\n"):
		lx.advance(1)
	}
}

func (lx *lexer) comment() {
	i := strings.Index(lx.src[lx.pos:], "#}")
	if i < 0 {
		lx.fail("missing end of comment tag")
	}
	text := lx.src[lx.pos : lx.pos+i]
	lx.advance(i + 2)
	lx.closing(strings.HasSuffix(text, "-"), !strings.HasSuffix(text, "+"))
}

// operators, longest first among those with a common start.
var operators = []string{"**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]",
	"(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

var closes = map[string]string{"(": ")", "[": "]", "{": "}"}

// tag lexes the inside of {{ }} or {% %}. The end counts only when all
// brackets are closed, so that {{ {'a': {}}} }} works.
func (lx *lexer) tag(end string, endKind tokenKind) {
	var open []string
	for lx.pos < len(lx.src) {
		rest := lx.src[lx.pos:]
		if len(open) == 0 && lx.tagEnd(rest, end, endKind) {
			return
		}
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case isSpace(r):
			lx.advance(size)
		case r >= '0' && r <= '9':
			lx.number(rest)
		case r == '_' || unicode.IsLetter(r):
			lx.take(tokName, identifier.FindString(rest))
		case r == '\'' || r == '"':
			lx.str(rest)
		default:
			i := slices.IndexFunc(operators, func(o string) bool { return strings.HasPrefix(rest, o) })
			if i < 0 {
				lx.fail("unexpected char %q", r)
			}
			op := operators[i]
			switch op {
			case "(", "[", "{":
				open = append(open, closes[op])
			case ")", "]", "}":
				if len(open) == 0 {
					lx.fail("unexpected '%s'", op)
				}
				last := len(open) - 1
				if open[last] != op {
					lx.fail("unexpected '%s', expected '%s'", op, open[last])
				}
				open = open[:last]
			}
			lx.take(tokOp, op)
		}
	}
	lx.fail("template ends inside a tag, expected '%s'", end)
}

// take emits and consumes a token that is written as its text.
func (lx *lexer) take(kind tokenKind, text string) {
	lx.emit(kind, text)
	lx.advance(len(text))
}

func (lx *lexer) tagEnd(rest, end string, kind tokenKind) bool {
	size, sign := len(end), byte(0)
	if rest[0] == '-' || rest[0] == '+' && end == "%}" {
		size, sign, rest = size+1, rest[0], rest[1:]
	}
	if !strings.HasPrefix(rest, end) {
		return false
	}
	lx.emit(kind, end)
	lx.advance(size)
	lx.closing(sign == '-', sign == 0 && end == "%}")
	return true
}
