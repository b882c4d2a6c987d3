package jinja

const otherFile = "is not allowed in a chat template: it reads another file"

// refused are statements of Jinja that are not read, and why.
var refused = map[string]string{
	"include": otherFile, "import": otherFile, "from": otherFile, "extends": otherFile,
	"block":      "is not allowed in a chat template: it belongs to template inheritance",
	"autoescape": "is not allowed in a chat template: it is for HTML",
	"with":       "is not supported in chat templates; use set", "raw": "is not supported in chat templates; print a string",
}

func (p *parser) statement() (stmt, error) {
	t := p.next()
	at := line(t.line)
	if t.text == "macro" || t.text == "call" {
		for _, f := range p.fors {
			f.captures = true
		}
	}
	switch t.text {
	case "if":
		return p.ifStmt(at)
	case "for":
		return p.forStmt(at)
	case "set":
		return p.setStmt(at)
	case "macro":
		name, err := p.expectName()
		if err != nil {
			return nil, err
		}
		def := &macroDef{name: name}
		if err := p.signature(def); err != nil {
			return nil, err
		}
		return &macroStmt{at, def}, p.macroBody(def, "endmacro")
	case "call":
		return p.callBlock(at)
	case "filter":
		f, err := p.filter(nil)
		if err != nil {
			return nil, err
		}
		if f, err = p.filters(f); err != nil {
			return nil, err
		}
		b, _, err := p.block("endfilter")
		return &filterStmt{at, f, b}, err
	case "generation":
		def := &macroDef{}
		err := p.macroBody(def, "endgeneration")
		return &scopeStmt{at, def.body}, err
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.fail("'%s' outside of a loop", t.text)
		}
		if t.text == "break" {
			return &signalStmt{at, brk}, nil
		}
		return &signalStmt{at, cont}, nil
	}
	p.i--
	if why, ok := refused[t.text]; ok {
		return nil, p.fail("{%% %s %%} %s", t.text, why)
	}
	return nil, p.fail("encountered unknown tag '%s'", t.text)
}

func (p *parser) ifStmt(at line) (stmt, error) {
	s := &ifStmt{line: at}
	mark := len(p.unknown)
	defer func() { p.unknown = p.unknown[:mark] }()
	for {
		test, err := p.tuple(tupleOpts{})
		if err != nil {
			return nil, err
		}
		b, end, err := p.block("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		s.tests, s.bodies = append(s.tests, test), append(s.bodies, b)
		switch end {
		case "elif":
			continue
		case "else":
			b, _, err := p.block("endif")
			s.bodies = append(s.bodies, b)
			return s, err
		}
		return s, nil
	}
}

func (p *parser) forStmt(at line) (stmt, error) {
	s := &forStmt{line: at}
	var err error
	if s.target, err = p.target("in"); err != nil {
		return nil, err
	}
	if !p.skipWord("in") {
		return nil, p.fail("expected 'in', got %s", p.cur().describe())
	}
	if s.iter, err = p.tuple(tupleOpts{}); err != nil {
		return nil, err
	}
	p.fors = append(p.fors, s)
	p.loops++
	defer func() { p.fors = p.fors[:len(p.fors)-1] }()
	if p.skipWord("if") {
		if s.test, err = p.condExpr(); err != nil {
			return nil, err
		}
	}
	if p.cur().word("recursive") {
		return nil, p.fail("recursive loops are not supported in chat templates")
	}
	b, end, err := p.block("else", "endfor")
	p.loops--
	s.body = b
	if err == nil && end == "else" {
		s.els, _, err = p.block("endfor")
	}
	return s, err
}

// target parses what an assignment writes to, up to the word end if given.
func (p *parser) target(end string) (target, error) {
	var parts []target
	tuple := false
	for {
		if end != "" && p.cur().word(end) && len(parts) > 0 {
			break
		}
		if p.skipOp("(") {
			if err := p.enter(); err != nil {
				return target{}, err
			}
			t, err := p.target("")
			p.depth--
			if err != nil {
				return target{}, err
			}
			if err := p.expectOp(")"); err != nil {
				return target{}, err
			}
			parts = append(parts, t)
		} else {
			t := p.cur()
			name, err := p.expectName()
			if err != nil {
				return target{}, err
			}
			if _, isConst := constants[name]; isConst {
				return target{}, p.fail("can't assign to %s", t.describe())
			}
			n := target{name: name}
			if end == "" && p.skipOp(".") {
				if n.attr, err = p.expectName(); err != nil {
					return target{}, err
				}
			}
			parts = append(parts, n)
		}
		if !p.skipOp(",") {
			break
		}
		tuple = true
		if c := p.cur(); c.kind == tokBlockEnd || c.op(")") || c.op("=") {
			break
		}
	}
	if !tuple {
		return parts[0], nil
	}
	return target{parts: parts}, nil
}

func (p *parser) setStmt(at line) (stmt, error) {
	tg, err := p.target("")
	if err != nil {
		return nil, err
	}
	if p.skipOp("=") {
		x, err := p.tuple(tupleOpts{cond: true})
		return &setStmt{at, tg, x}, err
	}
	f, err := p.filters(nil)
	if err != nil {
		return nil, err
	}
	b, _, err := p.block("endset")
	return &setBlockStmt{at, tg, f, b}, err
}

// signature parses "(a, b=1)".
func (p *parser) signature(def *macroDef) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	for !p.skipOp(")") {
		if len(def.params) > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
		}
		name, err := p.expectName()
		if err != nil {
			return err
		}
		if p.skipOp("=") {
			x, err := p.condExpr()
			if err != nil {
				return err
			}
			def.defaults = append(def.defaults, x)
		} else if len(def.defaults) > 0 {
			return p.fail("parameter '%s' without a default follows one with a default", name)
		}
		def.params = append(def.params, name)
	}
	return nil
}

func (p *parser) callBlock(at line) (stmt, error) {
	def := &macroDef{name: "caller"}
	if p.cur().op("(") {
		if err := p.signature(def); err != nil {
			return nil, err
		}
	}
	x, err := p.condExpr()
	if err != nil {
		return nil, err
	}
	c, ok := x.(*callExpr)
	if !ok {
		return nil, p.fail("expected a call after 'call'")
	}
	return &callStmt{at, c, def}, p.macroBody(def, "endcall")
}
