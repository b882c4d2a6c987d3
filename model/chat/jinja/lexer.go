package jinja

import (
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

// describe names the token for an error message.
func (t token) describe() string {
	switch t.kind {
	case tokEOF:
		return "end of template"
	case tokData:
		return "template data"
	case tokVarEnd:
		return "end of print statement"
	case tokBlockEnd:
		return "end of statement block"
	case tokVarBegin:
		return "begin of print statement"
	case tokBlockBegin:
		return "begin of statement block"
	}
	return "'" + t.text + "'"
}

// lexer splits a source with the whitespace rules of trim_blocks and
// lstrip_blocks: a newline after a block or comment is dropped, blanks from
// the start of a line to a block or comment too; "-" strips all whitespace on
// its side, "+" keeps it.
type lexer struct {
	src  string
	pos  int
	line int
	toks []token
	// lineStart: the text consumed so far ended with a newline (or nothing
	// was consumed), so blanks that follow are at the start of a line.
	lineStart bool
}

// lex returns the tokens of a template, ended by tokEOF.
func lex(src string) ([]token, error) {
	src = newlines.Replace(src)
	// keep_trailing_newline is off: one newline at the very end is not text.
	src = strings.TrimSuffix(src, "\n")
	lx := &lexer{src: src, line: 1, lineStart: true}
	for lx.pos < len(lx.src) {
		if err := lx.root(); err != nil {
			return nil, err
		}
	}
	lx.emit(tokEOF, "")
	return lx.toks, nil
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (lx *lexer) emit(k tokenKind, text string) {
	lx.toks = append(lx.toks, token{k, text, lx.line})
}

func (lx *lexer) fail(format string, args ...any) error {
	err := newErr(SyntaxError, format, args...).(*Error)
	err.Line = lx.line
	return err
}

// advance consumes n bytes and keeps line and lineStart.
func (lx *lexer) advance(n int) {
	if n == 0 {
		return
	}
	s := lx.src[lx.pos : lx.pos+n]
	lx.line += strings.Count(s, "\n")
	lx.pos += n
	lx.lineStart = s[n-1] == '\n'
}

// root consumes text up to the next tag and the tag itself.
func (lx *lexer) root() error {
	rest := lx.src[lx.pos:]
	at := 0
	for {
		i := strings.IndexByte(rest[at:], '{')
		if i < 0 || at+i+1 >= len(rest) {
			lx.emit(tokData, rest)
			lx.advance(len(rest))
			return nil
		}
		at += i
		if c := rest[at+1]; c == '{' || c == '%' || c == '#' {
			break
		}
		at++
	}
	text, kind := rest[:at], rest[at+1]
	var sign byte
	if at+2 < len(rest) && (rest[at+2] == '-' || rest[at+2] == '+') {
		sign = rest[at+2]
	}
	if kept := lx.leading(text, kind, sign); kept != "" {
		lx.emit(tokData, kept)
	}
	lx.advance(at)
	open := 2
	if sign != 0 {
		open = 3
	}
	switch kind {
	case '#':
		lx.advance(open)
		return lx.comment()
	case '{':
		lx.emit(tokVarBegin, "{{")
		lx.advance(open)
		return lx.tag("}}", tokVarEnd)
	}
	lx.emit(tokBlockBegin, "{%")
	lx.advance(open)
	return lx.tag("%}", tokBlockEnd)
}

// leading applies the whitespace rule on the left of a tag.
func (lx *lexer) leading(text string, kind, sign byte) string {
	if sign == '-' {
		return strings.TrimRightFunc(text, isSpace)
	}
	if sign == '+' || kind == '{' {
		return text
	}
	l := strings.LastIndexByte(text, '\n') + 1
	if (l > 0 || lx.lineStart) && strings.TrimLeftFunc(text[l:], isSpace) == "" {
		return text[:l]
	}
	return text
}

// closing consumes whitespace after a tag's end: all after "-", one newline
// where trim applies.
func (lx *lexer) closing(strip, trim bool) {
	rest := lx.src[lx.pos:]
	switch {
	case strip:
		lx.advance(len(rest) - len(strings.TrimLeftFunc(rest, isSpace)))
	case trim && strings.HasPrefix(rest, "\n"):
		lx.advance(1)
	}
}

func (lx *lexer) comment() error {
	i := strings.Index(lx.src[lx.pos:], "#}")
	if i < 0 {
		return lx.fail("missing end of comment tag")
	}
	var sign byte
	if i > 0 {
		sign = lx.src[lx.pos+i-1]
	}
	lx.advance(i + 2)
	lx.closing(sign == '-', sign != '+')
	return nil
}

// operators, longest first among those with a common start.
var operators = []string{"**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]",
	"(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

var closes = map[string]string{"(": ")", "[": "]", "{": "}"}

// tag lexes the inside of {{ }} or {% %}. The end counts only when all
// brackets are closed, so that {{ {'a': {}}} }} works.
func (lx *lexer) tag(end string, endKind tokenKind) error {
	var open []string
	for lx.pos < len(lx.src) {
		rest := lx.src[lx.pos:]
		if len(open) == 0 {
			n, sign := 0, byte(0)
			if strings.HasPrefix(rest, end) {
				n = 2
			} else if (rest[0] == '-' || rest[0] == '+' && end == "%}") && strings.HasPrefix(rest[1:], end) {
				n, sign = 3, rest[0]
			}
			if n > 0 {
				lx.emit(endKind, end)
				lx.advance(n)
				lx.closing(sign == '-', sign == 0 && end == "%}")
				return nil
			}
		}
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case isSpace(r):
			lx.advance(size)
		case r >= '0' && r <= '9':
			kind, n := number(rest)
			if lx.src[lx.pos-1] == '.' { // x.0.1 is two subscripts, no float
				kind, n = tokInt, digits(rest)
			}
			if n == 1 && r == '0' && len(rest) > 1 && strings.IndexByte("xXoObB", rest[1]) >= 0 {
				return lx.fail("the number %.2s… is not supported in chat templates; write it in decimal digits", rest)
			}
			lx.emit(kind, rest[:n])
			lx.advance(n)
		case r == '_' || unicode.IsLetter(r):
			n := nameLen(rest)
			lx.emit(tokName, rest[:n])
			lx.advance(n)
		case r == '\'' || r == '"':
			if err := lx.str(rest); err != nil {
				return err
			}
		default:
			op := ""
			for _, o := range operators {
				if strings.HasPrefix(rest, o) {
					op = o
					break
				}
			}
			switch op {
			case "":
				return lx.fail("unexpected char %q", r)
			case "(", "[", "{":
				open = append(open, closes[op])
			case ")", "]", "}":
				if len(open) == 0 {
					return lx.fail("unexpected '%s'", op)
				}
				want := open[len(open)-1]
				if want != op {
					return lx.fail("unexpected '%s', expected '%s'", op, want)
				}
				open = open[:len(open)-1]
			}
			lx.emit(tokOp, op)
			lx.advance(len(op))
		}
	}
	return lx.fail("template ends inside a tag, expected '%s'", end)
}
