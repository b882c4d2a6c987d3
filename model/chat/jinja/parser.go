package jinja

import "unicode/utf8"

// Bounds of the parser. They are far above real templates (the largest known
// has 17 KB and nests 15 deep) and keep recursion within a small stack.
const (
	maxSource = 1 << 20 // bytes
	maxNest   = 150     // blocks and brackets inside each other
)

// Template is a parsed template. It is immutable and safe for concurrent use.
type Template struct {
	name string
	body []stmt
	// standIns are those of U+FDD0 to U+FDEF that its texts have, one bit each.
	standIns uint32
}

// Parse reads a template. The error is an *Error with kind SyntaxError or
// LimitError and the line.
func Parse(name, source string) (*Template, error) {
	if len(source) > maxSource {
		return nil, locate(newErr(LimitError, "source has %d bytes; at most %d are allowed", len(source), maxSource), name, 0)
	}
	if !utf8.ValidString(source) {
		return nil, locate(newErr(SyntaxError, "source is not UTF-8"), name, 0)
	}
	toks, err := lex(source)
	if err != nil {
		return nil, locate(err, name, 0)
	}
	p := &parser{toks: toks}
	body, err := p.body()
	if err != nil {
		return nil, locate(err, name, p.cur().line)
	}
	if len(p.unknown) > 0 {
		return nil, locate(p.unknown[0], name, 0)
	}
	t := &Template{name: name, body: body}
	for _, tok := range toks {
		t.standIns |= standInsOf(tok.text)
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
	unknown []error
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

func (p *parser) fail(format string, args ...any) error {
	return newErr(SyntaxError, format, args...)
}

// missing notes an unknown filter or test.
func (p *parser) missing(what, name string) {
	p.unknown = append(p.unknown, locate(p.fail("%s", noSuch(what, name)), "", p.cur().line))
}

// enter counts one nesting; the caller leaves with p.depth--.
func (p *parser) enter() error {
	p.depth++
	if p.depth > maxNest {
		return newErr(LimitError, "nested more than %d deep", maxNest)
	}
	return nil
}

func (t token) op(s string) bool   { return t.kind == tokOp && t.text == s }
func (t token) word(s string) bool { return t.kind == tokName && t.text == s }

func (p *parser) skipOp(s string) bool {
	if p.cur().op(s) {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipWord(s string) bool {
	if p.cur().word(s) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expectOp(s string) error {
	if !p.skipOp(s) {
		return p.fail("expected '%s', got %s", s, p.cur().describe())
	}
	return nil
}

func (p *parser) expectName() (string, error) {
	if p.cur().kind != tokName {
		return "", p.fail("expected a name, got %s", p.cur().describe())
	}
	return p.next().text, nil
}

func (p *parser) blockEnd() error {
	if p.cur().kind != tokBlockEnd {
		return p.fail("expected end of statement block, got %s", p.cur().describe())
	}
	p.next()
	return nil
}

// body parses statements until a tag named in ends, which stays current (its
// block begin is consumed), or to the end of the template without ends.
func (p *parser) body(ends ...string) ([]stmt, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	var out []stmt
	for {
		t := p.next()
		switch t.kind {
		case tokEOF:
			if len(ends) > 0 {
				return nil, p.fail("unexpected end of template, looking for '%s'", ends[len(ends)-1])
			}
			return out, nil
		case tokData:
			out = append(out, &textStmt{line(t.line), t.text})
		case tokVarBegin:
			x, err := p.tuple(tupleOpts{cond: true})
			if err != nil {
				return nil, err
			}
			if p.cur().kind != tokVarEnd {
				return nil, p.fail("expected end of print statement, got %s", p.cur().describe())
			}
			p.next()
			out = append(out, &outStmt{line(t.line), x})
		case tokBlockBegin:
			if p.cur().kind != tokName {
				return nil, p.fail("tag name expected, got %s", p.cur().describe())
			}
			for _, e := range ends {
				if p.cur().text == e {
					return out, nil
				}
			}
			s, err := p.statement()
			if err != nil {
				return nil, err
			}
			if err := p.blockEnd(); err != nil {
				return nil, err
			}
			out = append(out, s)
		default:
			return nil, p.fail("unexpected %s", t.describe())
		}
	}
}

// block parses "%} body {% end" for one of ends; the end word is consumed and
// returned.
func (p *parser) block(ends ...string) ([]stmt, string, error) {
	p.skipOp(":")
	if err := p.blockEnd(); err != nil {
		return nil, "", err
	}
	b, err := p.body(ends...)
	if err != nil {
		return nil, "", err
	}
	return b, p.next().text, nil
}

// macroBody parses a body that becomes a function: loops outside do not count.
func (p *parser) macroBody(def *macroDef, end string) error {
	loops := p.loops
	p.loops = 0
	p.macros = append(p.macros, def)
	b, _, err := p.block(end)
	p.macros = p.macros[:len(p.macros)-1]
	p.loops = loops
	def.body = b
	return err
}

// mention notes that a name is read.
func (p *parser) mention(name string) {
	if name == "loop" {
		for _, f := range p.fors {
			f.usesLoop = true
		}
	}
	if name == "caller" {
		for _, m := range p.macros {
			m.caller = true
		}
	}
}
