package jinja

const otherFile = "is not allowed in a chat template: it reads another file"

// refused are statements of Jinja that are not read, and why.
var refused = map[string]string{
	"include": otherFile, "import": otherFile, "from": otherFile, "extends": otherFile,
	"block":      "is not allowed in a chat template: it belongs to template inheritance",
	"autoescape": "is not allowed in a chat template: it is for HTML",
	"with":       "is not supported in chat templates; use set", "raw": "is not supported in chat templates; print a string",
}

var signals = map[string]signal{"break": brk, "continue": cont}

// statement parses the inside of a block tag, and the body with its end tag.
func (p *parser) statement() node {
	t := p.next()
	switch t.text {
	case "if":
		return p.ifStmt()
	case "for":
		return p.forStmt()
	case "set":
		return p.setStmt()
	case "macro":
		def := &macroDef{name: p.expect(tokName).text}
		p.signature(def)
		p.macroBody(def, "endmacro")
		return &setStmt{target{name: def.name}, &macroExpr{def}}
	case "call":
		return p.callBlock()
	case "filter":
		f := p.filters(p.filter(bodyText))
		return &captureStmt{body: p.onlyBlock("endfilter"), filter: f}
	case "generation":
		return &scopeStmt{p.outsideLoops("endgeneration")}
	case "break", "continue":
		if p.loops == 0 {
			p.fail("'%s' outside a loop", t.text)
		}
		return &signalStmt{signals[t.text]}
	}
	p.i--
	if why, ok := refused[t.text]; ok {
		p.fail("{%% %s %%} %s", t.text, why)
	}
	p.fail("encountered unknown tag '%s'", t.text)
	return nil
}

func (p *parser) ifStmt() node {
	s := &ifStmt{}
	mark := len(p.unknown)
	for end := "elif"; end == "elif"; {
		s.tests = append(s.tests, p.tuple(p.or, false))
		var body []stmt
		body, end = p.block("elif", "else", "endif")
		s.bodies = append(s.bodies, body)
		if end == "else" {
			s.tests = append(s.tests, &constExpr{true})
			s.bodies = append(s.bodies, p.onlyBlock("endif"))
		}
	}
	p.unknown = p.unknown[:mark]
	return s
}

func (p *parser) forStmt() node {
	s := &forStmt{target: p.target("in")}
	if !p.skipWord("in") {
		p.unexpected("'in'")
	}
	s.iter = p.tuple(p.or, false)
	p.fors = append(p.fors, s)
	p.loops++
	if p.skipWord("if") {
		s.test = p.condExpr()
	}
	if p.cur().word("recursive") {
		p.fail("recursive loops are not supported in chat templates")
	}
	var end string
	s.body, end = p.block("else", "endfor")
	p.loops--
	if end == "else" {
		s.els = p.onlyBlock("endfor")
	}
	p.fors = p.fors[:len(p.fors)-1]
	return s
}

// target parses the left side of an assignment, up to the word end if given.
func (p *parser) target(end string) target {
	var parts []target
	for {
		if end != "" && p.cur().word(end) && len(parts) > 0 {
			break
		}
		parts = append(parts, p.targetPart(end == ""))
		if !p.skipOp(",") {
			if len(parts) == 1 {
				return parts[0]
			}
			break
		}
		if c := p.cur(); c.kind == tokBlockEnd || c.op(")") || c.op("=") {
			break
		}
	}
	return target{parts: parts}
}

func (p *parser) targetPart(fields bool) target {
	if p.skipOp("(") {
		p.enter()
		t := p.target("")
		p.depth--
		p.expectOp(")")
		return t
	}
	at := p.cur()
	t := target{name: p.expect(tokName).text}
	if _, isConst := constants[t.name]; isConst {
		p.fail("can't assign to %s", at.describe())
	}
	if fields && p.skipOp(".") {
		t.attr = p.expect(tokName).text
	}
	return t
}

func (p *parser) setStmt() node {
	to := p.target("")
	if p.skipOp("=") {
		return &setStmt{to, p.tuple(p.condExpr, false)}
	}
	s := &captureStmt{target: &to}
	if p.cur().op("|") {
		s.filter = p.filters(bodyText)
	}
	s.body = p.onlyBlock("endset")
	return s
}

// signature parses "(a, b=1)".
func (p *parser) signature(def *macroDef) {
	p.expectOp("(")
	for !p.skipOp(")") {
		if len(def.params) > 0 {
			p.expectOp(",")
		}
		name := p.expect(tokName).text
		if p.skipOp("=") {
			def.defaults = append(def.defaults, p.condExpr())
		} else if len(def.defaults) > 0 {
			p.fail("parameter '%s' without a default follows one with a default", name)
		}
		def.params = append(def.params, name)
	}
}

func (p *parser) callBlock() node {
	def := &macroDef{name: "caller"}
	if p.cur().op("(") {
		p.signature(def)
	}
	call, ok := p.condExpr().(*callExpr)
	if !ok {
		p.fail("expected a call after 'call'")
	}
	p.macroBody(def, "endcall")
	call.args.kw = append(call.args.kw, kwExpr{"caller", &macroExpr{def}})
	return &outStmt{call}
}
