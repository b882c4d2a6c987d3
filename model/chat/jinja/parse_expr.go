package jinja

import (
	"strconv"
	"strings"
)

var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

// tupleOpts says where a tuple without brackets may stand.
type tupleOpts struct {
	cond   bool // "a if b else c" allowed
	parens bool // inside (): may be empty
}

// tuple parses one expression, or several with commas as a tuple.
func (p *parser) tuple(o tupleOpts) (expr, error) {
	var items []expr
	isTuple := false
	for {
		c := p.cur()
		if c.kind == tokVarEnd || c.kind == tokBlockEnd || c.op(")") {
			break
		}
		x, err := p.maybeCond(o.cond || o.parens)
		if err != nil {
			return nil, err
		}
		items = append(items, x)
		if !p.skipOp(",") {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(items) == 1 {
			return items[0], nil
		}
		if !o.parens {
			return nil, p.fail("expected an expression, got %s", p.cur().describe())
		}
	}
	return &tupleExpr{items}, nil
}

func (p *parser) maybeCond(cond bool) (expr, error) {
	if cond {
		return p.condExpr()
	}
	return p.or()
}

func (p *parser) condExpr() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	mark := len(p.unknown)
	x, err := p.or()
	if err != nil {
		return nil, err
	}
	for p.cur().word("if") {
		p.next()
		c := &condExpr{then: x}
		if c.test, err = p.or(); err != nil {
			return nil, err
		}
		if p.skipWord("else") {
			if c.els, err = p.condExpr(); err != nil {
				return nil, err
			}
		}
		x = c
		p.unknown = p.unknown[:mark]
	}
	return x, nil
}

func (p *parser) or() (expr, error)  { return p.logic("or", p.and) }
func (p *parser) and() (expr, error) { return p.logic("and", p.not) }

func (p *parser) logic(word string, operand func() (expr, error)) (expr, error) {
	l, err := operand()
	for err == nil && p.skipWord(word) {
		var r expr
		r, err = operand()
		l = &logicExpr{word == "and", l, r}
	}
	return l, err
}

func (p *parser) not() (expr, error) {
	if !p.skipWord("not") {
		return p.compare()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	x, err := p.not()
	p.depth--
	return &notExpr{x}, err
}

func (p *parser) compare() (expr, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &compareExpr{first: first}
	for {
		op := ""
		switch t := p.cur(); {
		case t.kind == tokOp && strings.Contains(" == != < > <= >= ", " "+t.text+" "):
			op = p.next().text
		case t.word("in"):
			op = p.next().text
		case t.word("not") && p.peek().word("in"):
			p.next()
			p.next()
			op = "not in"
		}
		if op == "" {
			break
		}
		r, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.ops, c.rest = append(c.ops, op), append(c.rest, r)
	}
	if len(c.ops) == 0 {
		return first, nil
	}
	return c, nil
}

// left parses a left-associative chain of operators.
func (p *parser) left(operand func() (expr, error), ops ...string) (expr, error) {
	l, err := operand()
	for err == nil {
		if p.cur().op("**") {
			return nil, p.fail("the operator ** is not supported in chat templates")
		}
		op := ""
		for _, o := range ops {
			if p.cur().op(o) {
				op = o
			}
		}
		if op == "" {
			break
		}
		p.next()
		var r expr
		r, err = operand()
		l = &binaryExpr{op, l, r}
	}
	return l, err
}

func (p *parser) sum() (expr, error) { return p.left(p.concat, "+", "-") }
func (p *parser) product() (expr, error) {
	return p.left(func() (expr, error) { return p.unary(true) }, "*", "/", "//", "%")
}

func (p *parser) concat() (expr, error) {
	x, err := p.product()
	if err != nil || !p.cur().op("~") {
		return x, err
	}
	c := &concatExpr{[]expr{x}}
	for p.skipOp("~") {
		if x, err = p.product(); err != nil {
			return nil, err
		}
		c.items = append(c.items, x)
	}
	return c, nil
}

func (p *parser) unary(filters bool) (expr, error) {
	var x expr
	var err error
	if t := p.cur(); t.op("-") || t.op("+") {
		p.next()
		if err = p.enter(); err != nil {
			return nil, err
		}
		x, err = p.unary(false)
		p.depth--
		x = &unaryExpr{t.text, x}
	} else {
		x, err = p.primary()
	}
	if err != nil {
		return nil, err
	}
	if x, err = p.postfix(x); err != nil || !filters {
		return x, err
	}
	for {
		switch t := p.cur(); {
		case t.op("|"):
			x, err = p.filters(x)
		case t.word("is"):
			x, err = p.test(x)
		case t.op("("):
			x, err = p.call(x)
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) primary() (expr, error) {
	t := p.next()
	switch {
	case t.kind == tokName:
		if v, ok := constants[t.text]; ok {
			return &constExpr{v}, nil
		}
		p.mention(t.text)
		return &nameExpr{t.text}, nil
	case t.kind == tokString:
		var b strings.Builder
		b.WriteString(t.text)
		for p.cur().kind == tokString {
			b.WriteString(p.next().text)
		}
		return &constExpr{b.String()}, nil
	case t.kind == tokInt:
		return intLiteral(t.text)
	case t.kind == tokFloat:
		f, _ := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64) // out of range is infinity, as in Python
		return &constExpr{f}, nil
	case t.op("("):
		x, err := p.tuple(tupleOpts{parens: true})
		if err != nil {
			return nil, err
		}
		return x, p.expectOp(")")
	case t.op("["):
		l := &listExpr{}
		err := p.list("]", func() error {
			x, err := p.condExpr()
			l.items = append(l.items, x)
			return err
		})
		return l, err
	case t.op("{"):
		d := &dictExpr{}
		err := p.list("}", func() error {
			k, err := p.condExpr()
			if err != nil {
				return err
			}
			if err := p.expectOp(":"); err != nil {
				return err
			}
			v, err := p.condExpr()
			d.keys, d.vals = append(d.keys, k), append(d.vals, v)
			return err
		})
		return d, err
	}
	if t.kind != tokEOF {
		p.i--
	}
	return nil, p.fail("unexpected %s", t.describe())
}

// list parses comma-separated elements up to end; a trailing comma is allowed.
func (p *parser) list(end string, element func() error) error {
	for n := 0; !p.skipOp(end); n++ {
		if n > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
			if p.skipOp(end) {
				return nil
			}
		}
		if err := element(); err != nil {
			return err
		}
	}
	return nil
}

// intLiteral reads an integer literal of any size up to maxDigits.
func intLiteral(s string) (expr, error) {
	n, ok := parseInt(s)
	if !ok {
		return nil, newErr(SyntaxError, "bad integer %.20q", s)
	}
	return &constExpr{n}, nil
}
