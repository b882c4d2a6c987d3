package jinja

// postfix parses .name, [key] and (args) after a value.
func (p *parser) postfix(x expr) (expr, error) {
	for {
		var err error
		switch t := p.cur(); {
		case t.op("."):
			p.next()
			switch n := p.next(); n.kind {
			case tokName:
				x = &attrExpr{x, n.text}
			case tokInt:
				var k expr
				k, err = intLiteral(n.text)
				x = &itemExpr{x, k}
			default:
				err = p.fail("expected name or number after '.', got %s", n.describe())
			}
		case t.op("["):
			p.next()
			x, err = p.subscript(x)
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

func (p *parser) subscript(x expr) (expr, error) {
	if p.cur().op("]") {
		return nil, p.fail("expected subscript expression")
	}
	k, err := p.sliceKey()
	if err != nil {
		return nil, err
	}
	return &itemExpr{x, k}, p.expectOp("]")
}

// sliceKey parses "a", "a:b" or "a:b:c", every part optional.
func (p *parser) sliceKey() (expr, error) {
	s := &sliceExpr{}
	var err error
	if !p.cur().op(":") {
		if s.lo, err = p.condExpr(); err != nil || !p.cur().op(":") {
			return s.lo, err
		}
	}
	for _, part := range []*expr{&s.hi, &s.step} {
		if !p.skipOp(":") {
			break
		}
		if t := p.cur(); !t.op(":") && !t.op("]") && !t.op(",") {
			if *part, err = p.condExpr(); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (p *parser) call(f expr) (expr, error) {
	a, err := p.callArgs()
	return &callExpr{f, a}, err
}

func (p *parser) callArgs() (callArgs, error) {
	var a callArgs
	if err := p.expectOp("("); err != nil {
		return a, err
	}
	err := p.list(")", func() (err error) {
		switch t := p.cur(); {
		case t.op("**"):
			return p.fail("arguments with ** are not supported in chat templates")
		case t.op("*") && a.star == nil:
			p.next()
			a.star, err = p.condExpr()
		case t.kind == tokName && p.peek().op("="):
			p.next()
			p.next()
			var v expr
			v, err = p.condExpr()
			a.kw = append(a.kw, kwExpr{t.text, v})
		case a.star != nil || len(a.kw) > 0:
			return p.fail("positional argument after a keyword argument")
		default:
			var v expr
			v, err = p.condExpr()
			a.pos = append(a.pos, v)
		}
		return err
	})
	return a, err
}

// filters parses "|name(args)|…" after x.
func (p *parser) filters(x expr) (expr, error) {
	var err error
	for err == nil && p.skipOp("|") {
		x, err = p.filter(x)
	}
	return x, err
}

// filter parses one filter's name and arguments.
func (p *parser) filter(x expr) (expr, error) {
	name, err := p.expectName()
	if err != nil {
		return nil, err
	}
	if _, ok := filters[name]; !ok {
		p.missing("filter", name)
	}
	f := &filterExpr{x: x, name: name}
	if p.cur().op("(") {
		f.args, err = p.callArgs()
	}
	return f, err
}

// test parses "is [not] name [argument]".
func (p *parser) test(x expr) (expr, error) {
	p.next()
	negated := p.skipWord("not")
	name, err := p.expectName()
	if err != nil {
		return nil, err
	}
	if _, ok := tests[name]; !ok {
		p.missing("test", name)
	}
	t := &testExpr{x: x, name: name}
	switch c := p.cur(); {
	case c.op("("):
		t.args, err = p.callArgs()
	case c.word("is"):
		return nil, p.fail("You cannot chain multiple tests with is")
	case c.kind == tokName && c.text != "else" && c.text != "or" && c.text != "and" && c.text != "if" && c.text != "in" && c.text != "not",
		c.kind == tokString, c.kind == tokInt, c.kind == tokFloat, c.op("("), c.op("["), c.op("{"):
		var a expr
		if a, err = p.primary(); err == nil {
			a, err = p.postfix(a)
		}
		t.args.pos = []expr{a}
	}
	if err != nil {
		return nil, err
	}
	if negated {
		return &notExpr{t}, nil
	}
	return t, nil
}
