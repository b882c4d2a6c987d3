package regex

import (
	"strconv"
	"unicode/utf8"
)

// alternatives reads up to the end or a closing parenthesis.
func (p *parser) alternatives(depth int) (expr, error) {
	if depth > maxDepth {
		return nil, p.fail(p.pos, "groups nest deeper than 250", "flatten the pattern")
	}
	before := p.flags
	defer func() { p.flags = before }()
	var list []expr
	for {
		e, err := p.sequence(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if !p.accept("|") {
			return p.either(list), nil
		}
	}
}

func (p *parser) sequence(depth int) (expr, error) {
	var list []expr
	for p.more() {
		c := p.text[p.pos]
		if c == '|' || c == ')' {
			break
		}
		if p.flags.extended && p.blank() {
			continue
		}
		at := p.pos
		e, err := p.atom(depth)
		if err == nil {
			err = p.set.err
		}
		if err != nil {
			return nil, err
		}
		if e == nil {
			continue // a flag
		}
		if e, err = p.quantified(e, at); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return p.join(list), nil
}

// blank skips white space and comments of an extended pattern.
func (p *parser) blank() bool {
	switch p.text[p.pos] {
	case ' ', '\t', '\n', '\r', '\f', '\v':
		p.pos++
		return true
	case '#':
		for p.more() && p.text[p.pos] != '\n' {
			p.pos++
		}
		return true
	}
	return false
}

func (p *parser) quantified(e expr, at int) (expr, error) {
	for first := true; ; first = false {
		if p.flags.extended && p.more() && p.blank() {
			continue
		}
		start := p.pos
		lo, hi, ok, err := p.quantifier()
		if err != nil || !ok {
			return e, err
		}
		if !first {
			return nil, p.fail(start, "nothing to repeat: two quantifiers in a row", "put the first one into a group")
		}
		if !p.accept("?") && p.more() && p.text[p.pos] == '+' {
			return nil, p.fail(p.pos, "possessive quantifiers are not supported", "write the quantifier without +")
		}
		if e, err = p.repeat(e, lo, hi, at); err != nil {
			return nil, err
		}
	}
}

// quantifier reads one, if there is one. A brace that begins none is a character.
func (p *parser) quantifier() (lo, hi int, ok bool, err error) {
	switch {
	case p.accept("*"):
		return 0, Unbounded, true, nil
	case p.accept("+"):
		return 1, Unbounded, true, nil
	case p.accept("?"):
		return 0, 1, true, nil
	case !p.more() || p.text[p.pos] != '{':
		return 0, 0, false, nil
	}
	start := p.pos
	p.pos++
	lo, hasLo, big := p.number()
	hi = lo
	comma := p.accept(",")
	hasHi := hasLo
	if comma {
		var big2 bool
		hi, hasHi, big2 = p.number()
		big = big || big2
		if !hasHi {
			hi = Unbounded
		}
	}
	if !p.accept("}") || !hasLo && !(comma && hasHi) {
		p.pos = start
		return 0, 0, false, nil
	}
	if big {
		return 0, 0, false, p.fail(start, "a bound of a repetition is above 1,000,000", "")
	}
	if hi != Unbounded && hi < lo {
		return 0, 0, false, p.fail(start, "the bounds of a repetition are out of order", "")
	}
	return lo, hi, true, nil
}

func (p *parser) number() (n int, ok, big bool) {
	start := p.pos
	for p.more() && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	return n, p.pos > start, p.pos > start && (err != nil || n > 1_000_000)
}

// maxAssertionCopies bounds how often a group with an assertion is written out.
const maxAssertionCopies = 16

func (p *parser) repeat(e expr, lo, hi, at int) (expr, error) {
	t, ok := e.(plain)
	if ok {
		if hi > 1 || lo > 1 {
			if size := p.set.Spread(t.t); size > 1 && size*max(lo, hi) > p.maxSize {
				return nil, p.fail(at, "nested counted repetitions are too large", "use smaller bounds, or * or + for one of them")
			}
		}
		return plain{p.set.Repeat(t.t, lo, hi)}, nil
	}
	if hi == Unbounded || hi > maxAssertionCopies {
		return nil, p.fail(at, "an anchor or a look-ahead may not be repeated", "take it out of the group")
	}
	var list []expr
	for range lo {
		list = append(list, e)
	}
	// x{0,2} is (x(x)?)?
	var tail expr = plain{Empty}
	for range hi - lo {
		tail = choice{plain{Empty}, sequence{e, tail}}
	}
	return sequence(append(list, tail)), nil
}

// Spread estimates how many positions of a counted repetition of t can be
// under way at the same time: 1 where the length of t does not vary.
func (s *Set) Spread(t Term) int {
	const most = 1 << 30
	cache := map[Term]int{}
	var of func(t Term) int
	of = func(t Term) (n int) {
		if n, ok := cache[t]; ok {
			return n
		}
		defer func() { cache[t] = n }()
		switch x := s.nodes[t]; x.kind {
		case kConcat:
			return min(most, max(of(Term(x.a)), of(Term(x.b))))
		case kRepeat:
			width := int(max(x.b, x.c)) // of r{m,}: m
			if x.b == x.c {
				width = 1
			}
			return min(most, max(width, 1)*of(Term(x.a)))
		case kOr, kAnd:
			n = 1
			for _, u := range s.operands(t) {
				n = max(n, of(u))
			}
			return n
		case kNot:
			return of(Term(x.a))
		}
		return 1
	}
	return of(t)
}

// atom reads one part without its quantifier; nil for a flag.
func (p *parser) atom(depth int) (expr, error) {
	at := p.pos
	switch c := p.text[p.pos]; c {
	case '(':
		p.pos++
		return p.group(depth, at)
	case '[':
		p.pos++
		t, err := p.class(at)
		return plain{t}, err
	case '.':
		p.pos++
		return plain{p.runes(p.dot(), false)}, nil
	case '^':
		p.pos++
		return atStart{}, nil
	case '$':
		p.pos++
		return atEnd{}, nil
	case '*', '+', '?':
		return nil, p.fail(at, "nothing to repeat", `write \`+string(rune(c))+` for the character`)
	case '{':
		if _, _, ok, err := p.quantifier(); err != nil || ok {
			return nil, p.fail(at, "nothing to repeat", `write \{ for the character`)
		}
	case '\\':
		p.pos++
		return p.escape(at)
	}
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	if r == utf8.RuneError && n <= 1 {
		return nil, p.fail(at, "the pattern is not valid UTF-8", "")
	}
	p.pos += n
	return p.character(r), nil
}

func (p *parser) character(r rune) expr {
	return plain{p.runes([]RuneRange{{r, r}}, false)}
}

func (p *parser) dot() []RuneRange {
	switch {
	case p.flags.dotAll:
		return AllRunes
	case p.ecma:
		return NegateRunes([]RuneRange{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}})
	}
	return NegateRunes([]RuneRange{{'\n', '\n'}})
}

// group reads what follows an opening parenthesis.
func (p *parser) group(depth, at int) (expr, error) {
	wrap := func(e expr) expr { return e }
	if p.accept("?") {
		switch {
		case p.accept(":"):
		case p.accept("="):
			wrap = func(e expr) expr { return ahead{body: e} }
		case p.accept("!"):
			wrap = func(e expr) expr { return ahead{body: e, negate: true} }
		case p.accept("<="), p.accept("<!"):
			return nil, p.fail(at, "look-behind is not supported", "describe the whole text instead")
		case p.accept(">"):
			return nil, p.fail(at, "atomic groups are not supported", "use (?:…)")
		case p.accept("P<"), p.accept("<"):
			if err := p.groupName(at); err != nil {
				return nil, err
			}
		case p.accept("P="), p.accept("P>"), p.accept("("):
			return nil, p.fail(at, "references to groups are not supported", "")
		case p.accept("#"):
			for p.more() && p.text[p.pos] != ')' {
				p.pos++
			}
			if !p.accept(")") {
				return nil, p.fail(at, "the comment is not closed", "")
			}
			return nil, nil
		default:
			outer := p.flags
			scoped, err := p.setFlags(at)
			if err != nil || !scoped {
				return nil, err
			}
			e, err := p.alternatives(depth + 1)
			p.flags = outer
			return p.closed(e, err, at)
		}
	}
	e, err := p.alternatives(depth + 1)
	if e, err = p.closed(e, err, at); err != nil {
		return nil, err
	}
	return wrap(e), nil
}

func (p *parser) closed(e expr, err error, at int) (expr, error) {
	if err == nil && !p.accept(")") {
		err = p.fail(at, "the group is not closed", `write \( for the character`)
	}
	return e, err
}

func (p *parser) groupName(at int) error {
	start := p.pos
	for p.more() && p.text[p.pos] != '>' {
		p.pos++
	}
	name := p.text[start:p.pos]
	if !p.accept(">") || name == "" {
		return p.fail(at, "the name of the group is missing or not closed", "")
	}
	if p.names[name] {
		return p.fail(at, "two groups have the name "+strconv.Quote(name), "")
	}
	if p.names == nil {
		p.names = map[string]bool{}
	}
	p.names[name] = true
	return nil
}

// setFlags reads i, s, m, x, u with an optional minus, up to ) or :. scoped:
// it ended with a colon.
func (p *parser) setFlags(at int) (scoped bool, err error) {
	on := true
	for p.more() {
		c := p.text[p.pos]
		p.pos++
		switch c {
		case 'i':
			p.flags.fold = on
		case 's':
			p.flags.dotAll = on
		case 'x':
			p.flags.extended = on
		case 'u', 'a', 'L':
		case 'm':
			if on {
				return false, p.fail(p.pos-1, "the flag m is not supported", `write (?:^|\n) for the start of a line`)
			}
		case '-':
			on = false
		case ')':
			return false, nil
		case ':':
			return true, nil
		default:
			return false, p.fail(p.pos-1, "unknown flag or group", "")
		}
	}
	return false, p.fail(at, "the group is not closed", "")
}
