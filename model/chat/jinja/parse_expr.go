package jinja

import (
	"slices"
	"strconv"
	"strings"
)

var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

// tuple parses one expression, or several with commas as a tuple.
func (p *parser) tuple(element func() expr, mayBeEmpty bool) expr {
	var items []expr
	isTuple := false
	for {
		c := p.cur()
		if c.kind == tokVarEnd || c.kind == tokBlockEnd || c.op(")") {
			break
		}
		items = append(items, element())
		if !p.skipOp(",") {
			break
		}
		isTuple = true
	}
	switch {
	case !isTuple && len(items) == 1:
		return items[0]
	case !isTuple && !mayBeEmpty:
		p.unexpected("an expression")
	}
	return &listExpr{items, true}
}

var noElse = &constExpr{&Undefined{hint: "the inline if-expression evaluated to false and no else section was defined."}}

func (p *parser) condExpr() expr {
	p.enter()
	mark := len(p.unknown)
	x := p.or()
	for p.skipWord("if") {
		c := &condExpr{then: x, test: p.or(), els: noElse}
		if p.skipWord("else") {
			c.els = p.condExpr()
		}
		x = c
		p.unknown = p.unknown[:mark]
	}
	p.depth--
	return x
}

// Binary operators, loosest first; "not" and comparisons are between "and" and "+".
func (p *parser) or() expr      { return p.left(p.and, "or") }
func (p *parser) and() expr     { return p.left(p.not, "and") }
func (p *parser) sum() expr     { return p.left(p.concat, "+", "-") }
func (p *parser) concat() expr  { return p.left(p.product, "~") }
func (p *parser) product() expr { return p.left(p.filtered, "*", "/", "//", "%") }

// left parses a left-associative chain of operators.
func (p *parser) left(operand func() expr, ops ...string) expr {
	l := operand()
	for {
		t := p.cur()
		if t.op("**") {
			p.fail("the operator ** is not supported in chat templates")
		}
		if t.kind != tokOp && t.kind != tokName || !slices.Contains(ops, t.text) {
			return l
		}
		p.next()
		r := operand()
		switch t.text {
		case "or", "and":
			l = &logicExpr{t.text == "and", l, r}
		case "~":
			c, ok := l.(*concatExpr)
			if !ok {
				c = &concatExpr{[]expr{l}}
			}
			c.items = append(c.items, r)
			l = c
		default:
			l = &binaryExpr{t.text, l, r}
		}
	}
}

func (p *parser) not() expr {
	if !p.skipWord("not") {
		return p.compare()
	}
	p.enter()
	x := p.not()
	p.depth--
	return &notExpr{x}
}

func (p *parser) compare() expr {
	first := p.sum()
	op := p.comparison()
	if op == "" {
		return first
	}
	c := &compareExpr{first: first}
	for ; op != ""; op = p.comparison() {
		c.ops, c.rest = append(c.ops, op), append(c.rest, p.sum())
	}
	return c
}

// comparison takes a comparison operator, "" without one.
func (p *parser) comparison() string {
	switch t := p.cur(); {
	case t.kind == tokOp && strings.Contains(" == != < > <= >= ", " "+t.text+" "), t.word("in"):
		return p.next().text
	case t.word("not") && p.peek().word("in"):
		p.next()
		p.next()
		return "not in"
	}
	return ""
}

// filtered parses an operand with its filters and tests.
func (p *parser) filtered() expr {
	x := p.unary()
	for {
		switch t := p.cur(); {
		case t.op("|"):
			x = p.filters(x)
		case t.word("is"):
			x = p.test(x)
		case t.op("("):
			x = &callExpr{x, p.callArgs()}
		default:
			return x
		}
	}
}

func (p *parser) unary() expr {
	t := p.cur()
	if !t.op("-") && !t.op("+") {
		return p.postfix(p.primary())
	}
	p.next()
	p.enter()
	x := p.unary()
	p.depth--
	return p.postfix(&unaryExpr{t.text, x})
}

func (p *parser) primary() expr {
	t := p.next()
	switch {
	case t.kind == tokName:
		if v, ok := constants[t.text]; ok {
			return &constExpr{v}
		}
		if t.text == "caller" {
			for _, m := range p.macros {
				m.caller = true
			}
		}
		return &nameExpr{t.text}
	case t.kind == tokString:
		var b strings.Builder
		b.WriteString(t.text)
		for p.cur().kind == tokString {
			b.WriteString(p.next().text)
		}
		return &constExpr{b.String()}
	case t.kind == tokInt:
		return intLiteral(t.text)
	case t.kind == tokFloat:
		f, _ := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64) // out of range is infinity, as in Python
		return &constExpr{f}
	case t.op("("):
		x := p.tuple(p.condExpr, true)
		p.expectOp(")")
		return x
	case t.op("["):
		l := &listExpr{}
		p.list("]", func() { l.items = append(l.items, p.condExpr()) })
		return l
	case t.op("{"):
		d := &dictExpr{}
		p.list("}", func() {
			d.keys = append(d.keys, p.condExpr())
			p.expectOp(":")
			d.vals = append(d.vals, p.condExpr())
		})
		return d
	}
	if t.kind != tokEOF {
		p.i--
	}
	p.fail("unexpected %s", t.describe())
	return nil
}

// list parses comma-separated elements up to end; a trailing comma is allowed.
func (p *parser) list(end string, element func()) {
	for !p.skipOp(end) {
		element()
		if !p.cur().op(end) {
			p.expectOp(",")
		}
	}
}
