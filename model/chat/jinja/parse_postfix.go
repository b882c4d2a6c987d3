package jinja

import "slices"

// postfix parses .name, [key] and (args) after a value.
func (p *parser) postfix(x expr) expr {
	for {
		switch {
		case p.skipOp("."):
			switch n := p.next(); n.kind {
			case tokName:
				x = &attrExpr{x, n.text}
			case tokInt:
				x = &itemExpr{x, intLiteral(n.text)}
			default:
				p.fail("expected name or number after '.', got %s", n.describe())
			}
		case p.skipOp("["):
			if p.cur().op("]") {
				p.fail("expected subscript expression")
			}
			x = &itemExpr{x, p.sliceKey()}
			p.expectOp("]")
		case p.cur().op("("):
			x = &callExpr{x, p.callArgs()}
		default:
			return x
		}
	}
}

// sliceKey parses "a", "a:b" or "a:b:c", every part optional.
func (p *parser) sliceKey() expr {
	none := &constExpr{nil} // for a part that is left out
	s := &sliceExpr{none, none, none}
	if !p.cur().op(":") {
		if s.lo = p.condExpr(); !p.cur().op(":") {
			return s.lo
		}
	}
	for _, part := range []*expr{&s.hi, &s.step} {
		if !p.skipOp(":") {
			break
		}
		if t := p.cur(); !t.op(":") && !t.op("]") && !t.op(",") {
			*part = p.condExpr()
		}
	}
	return s
}

func (p *parser) callArgs() (a callArgs) {
	p.expectOp("(")
	p.list(")", func() {
		switch t := p.cur(); {
		case t.op("**"):
			p.fail("arguments with ** are not supported in chat templates")
		case t.op("*") && a.star == nil:
			p.next()
			a.star = p.condExpr()
		case t.kind == tokName && p.peek().op("="):
			p.next()
			p.next()
			a.kw = append(a.kw, kwExpr{t.text, p.condExpr()})
		case a.star != nil || len(a.kw) > 0:
			p.fail("positional argument after a keyword argument")
		default:
			a.pos = append(a.pos, p.condExpr())
		}
	})
	return a
}

// filters parses "|name(args)|…" after x.
func (p *parser) filters(x expr) expr {
	for p.skipOp("|") {
		x = p.filter(x)
	}
	return x
}

func (p *parser) filter(x expr) expr {
	f := p.builtin("filter", x)
	if p.cur().op("(") {
		f.args = p.callArgs()
	}
	return f
}

func (p *parser) builtin(kind string, x expr) *builtinExpr {
	name := p.expect(tokName).text
	if builtins[kind][name] == nil {
		p.unknown = append(p.unknown, newErr(SyntaxError, "%s", noSuch(kind, name)).locate("", p.cur().line))
	}
	return &builtinExpr{x: x, kind: kind, name: name}
}

// noArgument are the words that end a test.
var noArgument = []string{"else", "or", "and", "if", "in", "not"}

// test parses "is [not] name [argument]".
func (p *parser) test(x expr) expr {
	p.next()
	negated := p.skipWord("not")
	t := p.builtin("test", x)
	switch c := p.cur(); {
	case c.op("("):
		t.args = p.callArgs()
	case c.word("is"):
		p.fail("You cannot chain multiple tests with is")
	case c.kind == tokName && !slices.Contains(noArgument, c.text),
		c.kind == tokString, c.kind == tokInt, c.kind == tokFloat, c.op("["), c.op("{"):
		t.args.pos = []expr{p.postfix(p.primary())}
	}
	if negated {
		return &notExpr{t}
	}
	return t
}
