package lark

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// alternatives reads a right side, or what is in parentheses.
func (p *parser) alternatives() (rules.Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.pos, "groups nest deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	var list rules.Alt
	for {
		before := len(p.pending)
		e, err := p.conjunction()
		if err != nil {
			return nil, err
		}
		holds := true
		if p.blank(); p.accept("->") {
			p.blank()
			p.name() // the name of an alternative changes no text
		}
		if p.blank(); p.accept("%if") {
			if holds, err = p.condition(); err != nil {
				return nil, err
			}
		}
		if holds {
			list = append(list, e)
		} else {
			p.forget(before)
		}
		if p.blank(); !p.accept("|") {
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

// conjunction reads sequences joined by &.
func (p *parser) conjunction() (rules.Expr, error) {
	e, err := p.sequence()
	if err != nil {
		return nil, err
	}
	list := rules.And{e}
	for p.blank(); p.next("&"); p.blank() {
		if !p.whole() {
			return nil, p.fail(p.pos, "& is for terminals, whose names are in capitals, and not for rules")
		}
		p.pos++
		e, err := p.sequence()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

func (p *parser) sequence() (rules.Expr, error) {
	list := rules.Seq{}
	for {
		p.blank()
		at := p.pos
		if at >= len(p.text) || strings.IndexByte("|&)]", p.text[at]) >= 0 || p.next("->") {
			break
		}
		if c := p.text[at]; c == '%' && !p.next("%json") && !p.next("%regex") && !p.next("%lark") {
			break
		} else if isName(c) || c == '?' || c == '!' {
			_, ok, err := p.header()
			p.pos = at
			if err != nil {
				return nil, err
			}
			if ok {
				break
			}
		}
		e, err := p.operand()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

// operand reads an atom with what repeats it.
func (p *parser) operand() (rules.Expr, error) {
	at := p.pos
	if p.accept("~") {
		if !p.whole() {
			return nil, p.fail(at, "~ is for terminals, whose names are in capitals, and not for rules")
		}
		p.blank()
		e, err := p.operand()
		return rules.Not{Of: e}, err
	}
	e, err := p.atom()
	if err != nil {
		return nil, err
	}
	for {
		save := p.pos
		p.blank()
		lo, hi, ok, err := p.quantifier()
		if err != nil {
			return nil, err
		}
		if !ok {
			p.pos = save
			return e, nil
		}
		e = rules.Rep{Of: e, Min: lo, Max: hi, At: at}
	}
}

func (p *parser) quantifier() (lo, hi int, ok bool, err error) {
	at := p.pos
	switch {
	case p.accept("*"):
		return 0, -1, true, nil
	case p.accept("+"):
		return 1, -1, true, nil
	case p.accept("?"):
		return 0, 1, true, nil
	case p.next("~"):
		// ~ behind an atom repeats it when a number follows.
		p.pos++
		p.blank()
		if lo, ok = p.number(); !ok {
			p.pos = at
			return 0, 0, false, nil
		}
		hi = lo
		if p.blank(); p.accept("..") {
			p.blank()
			if hi, ok = p.number(); !ok {
				return 0, 0, false, p.fail(at, "expected ~n or ~n..m")
			}
		}
	case p.accept("{"):
		var hasLo, hasHi bool
		p.blank()
		lo, hasLo = p.number()
		hi, hasHi = lo, hasLo
		if p.blank(); p.accept(",") {
			p.blank()
			if hi, hasHi = p.number(); !hasHi {
				hi = -1
			}
		}
		if p.blank(); !p.accept("}") || !hasLo && !hasHi {
			return 0, 0, false, p.fail(at, "expected {n}, {n,}, {,m} or {n,m}")
		}
	default:
		return 0, 0, false, nil
	}
	if hi >= 0 && hi < lo {
		return 0, 0, false, p.fail(at, "the bounds of a repetition are out of order")
	}
	if lo > rules.MaxRepeat || hi > rules.MaxRepeat {
		return 0, 0, false, p.fail(at, "a bound of a repetition is above %d", rules.MaxRepeat)
	}
	return lo, hi, true, nil
}

// number reads a decimal number; one that is too large is larger than any bound.
func (p *parser) number() (int, bool) {
	start := p.pos
	for p.pos < len(p.text) && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	if p.pos > start && err != nil {
		n = rules.MaxRepeat + 1
	}
	return n, p.pos > start
}

func (p *parser) atom() (rules.Expr, error) {
	at := p.pos
	if at >= len(p.text) {
		return nil, p.fail(at, "the rule ends where something is expected")
	}
	switch c := p.text[at]; {
	case c == '"':
		_, e, err := p.quoted()
		if err == nil && p.next("..") {
			e, err = p.charRange(at)
		}
		return p.part(e), err
	case c == '/':
		e, err := p.slashed()
		return p.part(e), err
	case c == '(' || c == '[':
		p.pos++
		e, err := p.alternatives()
		if err != nil {
			return nil, err
		}
		if p.blank(); !p.accept(map[byte]string{'(': ")", '[': "]"}[c]) {
			return nil, p.fail(at, "the group is not closed")
		}
		if c == '[' {
			e = rules.Rep{Of: e, Min: 0, Max: 1, At: at}
		}
		return e, nil
	case c == '<':
		return p.token()
	case p.accept("%json"):
		return p.schema(at)
	case p.accept("%regex"):
		e, err := p.substring(at)
		return p.part(e), err
	case p.accept("%lark"):
		return p.grammarInside(at)
	case isName(c):
		return p.reference(at)
	}
	r, _ := utf8.DecodeRuneInString(p.text[at:])
	return nil, p.fail(at, "unexpected %q", r)
}

// part is a terminal that is written out within a rule.
func (p *parser) part(e rules.Expr) rules.Expr {
	if p.whole() {
		return e
	}
	return p.spaced(e)
}

func (p *parser) reference(at int) (rules.Expr, error) {
	name := p.name()
	if p.accept("::") {
		return p.parametric(name, at)
	}
	h := p.heads[name]
	if h != nil && h.parametric {
		return nil, p.fail(at, "%q needs a parameter, as in %s::0", name, name)
	}
	if h != nil && p.now.terminal && !h.terminal {
		return nil, p.fail(at, "the rule %q cannot be used in a terminal", name)
	}
	e := rules.Expr(rules.Ref{Name: name, At: at})
	if isTerminal(name) {
		e = p.part(e)
	}
	return e, nil
}

// token reads a special token by its name.
func (p *parser) token() (rules.Expr, error) {
	at := p.pos
	end := strings.IndexAny(p.text[at:], ">\n")
	if end < 0 || p.text[at+end] != '>' {
		return nil, p.fail(at, "the token is not closed by >")
	}
	name := p.text[at : at+end+1]
	p.pos += end + 1
	if p.now.terminal {
		return nil, p.fail(at, "special tokens cannot be used in terminals")
	}
	if strings.HasPrefix(name, "<[") {
		return nil, p.fail(at, "tokens by number are not supported; name a special token")
	}
	if p.o.Token != nil {
		if id, ok := p.o.Token(name); ok {
			return rules.Symbol{Symbol: p.b.Token(id)}, nil
		}
	}
	return nil, &cfg.Error{At: cfg.Position(p.text, at), Reason: "the model has no special token " + name, Remedy: "write text in quotes"}
}
