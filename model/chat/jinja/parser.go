package jinja

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Bounds of the parser, far above real templates: the largest known one has 17 KB
// and nests 15 deep. Recursion stays within a small stack.
const (
	maxSource = 1 << 20 // bytes
	maxNest   = 150     // blocks and brackets inside each other
)

// Template is a parsed template. It is immutable and safe for concurrent use.
type Template struct {
	name string
	body []stmt
	// standIns are the characters U+FDD0 to U+FDEF in its texts, one bit each.
	standIns uint32
	// names are its names, except those of attributes, filters and arguments.
	names map[string]bool
}

// Names reports whether a name that may be a variable's is in the template.
func (t *Template) Names(name string) bool { return t.names[name] }

// Parse reads a template. Errors are *Error, SyntaxError or LimitError, with the line.
func Parse(name, source string) (t *Template, err error) {
	p := &parser{toks: []token{{}}}
	defer func() {
		if e := recovered(recover()); e != nil {
			err = e.locate(name, p.cur().line)
		}
	}()
	if len(source) > maxSource {
		panic(newErr(LimitError, "the template has %d bytes; at most %d are allowed", len(source), maxSource))
	}
	if !utf8.ValidString(source) {
		p.fail("the template is not UTF-8")
	}
	p.toks = lex(source)
	body := p.body()
	if len(p.unknown) > 0 {
		panic(p.unknown[0])
	}
	t = &Template{name: name, body: body, names: map[string]bool{}}
	is := func(i int, op string) bool { return p.toks[i].kind == tokOp && p.toks[i].text == op }
	for i, tok := range p.toks {
		t.standIns |= standInsOf(tok.text)
		if tok.kind == tokName && !is(i-1, ".") && !is(i-1, "|") && !is(i+1, "=") { // a tag begins before it, and tokEOF follows
			t.names[tok.text] = true
		}
	}
	return t, nil
}

type parser struct {
	toks  []token
	i     int
	depth int // open nestings
	loops int // loops around the current statement, within one macro
	// unknown holds the failures for unknown filters and tests. Those inside a
	// condition are dropped: there they fail only when reached.
	unknown []*Error
	macros  []*macroDef // being parsed, innermost last
	fors    []*forStmt  // being parsed, innermost last
}

func (p *parser) cur() token  { return p.toks[p.i] }
func (p *parser) peek() token { return p.toks[min(p.i+1, len(p.toks)-1)] }

func (p *parser) next() token {
	t := p.toks[p.i]
	if t.kind != tokEOF {
		p.i++
	}
	return t
}

func (p *parser) fail(format string, args ...any) {
	panic(newErr(SyntaxError, format, args...))
}

func (p *parser) unexpected(want string) {
	p.fail("expected %s, got %s", want, p.cur().describe())
}

// enter counts one nesting; the caller leaves with p.depth--.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNest {
		panic(newErr(LimitError, "blocks and brackets are nested more than %d deep", maxNest))
	}
}

func (t token) op(s string) bool   { return t.kind == tokOp && t.text == s }
func (t token) word(s string) bool { return t.kind == tokName && t.text == s }

func (p *parser) skipOp(s string) bool   { return p.skip(p.cur().op(s)) }
func (p *parser) skipWord(s string) bool { return p.skip(p.cur().word(s)) }

func (p *parser) skip(is bool) bool {
	if is {
		p.next()
	}
	return is
}

func (p *parser) expectOp(s string) {
	if !p.skipOp(s) {
		p.unexpected("'" + s + "'")
	}
}

func (p *parser) expect(kind tokenKind) token {
	if p.cur().kind != kind {
		p.unexpected(cmp.Or(tokenNames[kind], "a name"))
	}
	return p.next()
}

// body parses statements until a tag named in ends, which stays current (its
// block begin is consumed), or to the end of the template without ends.
func (p *parser) body(ends ...string) (out []stmt) {
	p.enter()
	for {
		t := p.next()
		var n node
		switch t.kind {
		case tokData:
			n = &textStmt{t.text}
		case tokVarBegin:
			n = &outStmt{p.tuple(p.condExpr, false)}
			p.expect(tokVarEnd)
		case tokBlockBegin:
			name := p.cur()
			if name.kind != tokName {
				p.fail("tag name expected, got %s", name.describe())
			}
			if slices.Contains(ends, name.text) {
				p.depth--
				return out
			}
			n = p.statement()
			p.expect(tokBlockEnd)
		case tokEOF:
			if len(ends) > 0 {
				p.fail("unexpected end of template, looking for '%s'", ends[len(ends)-1])
			}
			return out
		default:
			p.fail("unexpected %s", t.describe())
		}
		out = append(out, stmt{t.line, n})
	}
}

// block parses "%} body {% end" for one of ends; the end word is consumed and returned.
func (p *parser) block(ends ...string) ([]stmt, string) {
	p.skipOp(":")
	p.expect(tokBlockEnd)
	b := p.body(ends...)
	return b, p.next().text
}

func (p *parser) onlyBlock(end string) []stmt {
	b, _ := p.block(end)
	return b
}

// outsideLoops parses a body that break and continue do not leave.
func (p *parser) outsideLoops(end string) []stmt {
	loops := p.loops
	p.loops = 0
	b := p.onlyBlock(end)
	p.loops = loops
	return b
}

func (p *parser) macroBody(def *macroDef, end string) {
	for _, f := range p.fors {
		f.captures = true
	}
	p.macros = append(p.macros, def)
	def.body = p.outsideLoops(end)
	p.macros = p.macros[:len(p.macros)-1]
}
