package regex

// expr is a parsed expression. One without assertions is a term already; the
// others are kept as trees until it is known what surrounds them.
type expr interface{}

type (
	plain    struct{ t Term }
	sequence []expr
	choice   []expr
	atStart  struct{}
	atEnd    struct{}
	ahead    struct {
		body   expr
		negate bool
	}
)

// conts are two languages of what may follow up to the end of the text: after
// at least one byte, and at the start of the text.
type conts struct{ inside, start Term }

// whole returns the language of the texts that e matches, or contains.
func (p *parser) whole(e expr, search bool) Term {
	s := p.set
	if t, ok := e.(plain); ok {
		if search {
			return s.Concat(Anything, t.t, Anything)
		}
		return t.t
	}
	rest := Empty
	if search {
		rest = Anything
	}
	c := p.follow(e, conts{rest, rest})
	if !search {
		return c.start
	}
	return s.Or(c.start, s.Concat(s.Repeat(s.all, 1, Unbounded), c.inside))
}

// follow returns the languages of e followed by k. As both reach to the end of
// the text, assertions are intersections: $ leaves the empty rest, a look-ahead
// what it describes, ^ nothing unless the text has just begun. Exact.
func (p *parser) follow(e expr, k conts) conts {
	s := p.set
	switch e := e.(type) {
	case plain:
		c := conts{inside: s.concat(e.t, k.inside)}
		if k.inside == k.start {
			c.start = c.inside
			return c
		}
		c.start = s.concat(s.NotEmpty(e.t), k.inside)
		if s.Nullable(e.t) {
			c.start = s.Or(c.start, k.start)
		}
		return c
	case sequence:
		for i := len(e) - 1; i >= 0; i-- {
			k = p.follow(e[i], k)
		}
		return k
	case choice:
		var inside, start []Term
		for _, x := range e {
			c := p.follow(x, k)
			inside, start = append(inside, c.inside), append(start, c.start)
		}
		return conts{s.Or(inside...), s.Or(start...)}
	case atStart:
		return conts{Nothing, k.start}
	case atEnd:
		return conts{s.And(k.inside, Empty), s.And(k.start, Empty)}
	case ahead:
		c := p.follow(e.body, conts{Anything, Anything})
		if e.negate {
			c.inside, c.start = s.Not(c.inside), s.Not(c.start)
		}
		return conts{s.And(c.inside, k.inside), s.And(c.start, k.start)}
	}
	panic("regex: unknown expression")
}

// NotEmpty returns t without the empty string.
func (s *Set) NotEmpty(t Term) Term {
	if !s.Nullable(t) {
		return t
	}
	if n := s.nodes[t]; n.kind == kOr {
		var rest []Term
		for _, x := range s.operands(t) {
			if x != Empty {
				rest = append(rest, x)
			}
		}
		if u := s.Or(rest...); !s.Nullable(u) {
			return u
		}
	}
	return s.And(t, s.Not(Empty))
}

func (p *parser) join(list []expr) expr {
	var out sequence
	for _, e := range list {
		a, ok := e.(plain)
		if ok && len(out) > 0 {
			if b, ok := out[len(out)-1].(sequencePart); ok {
				out[len(out)-1] = append(b, a.t)
				continue
			}
		}
		if ok {
			out = append(out, sequencePart{a.t})
			continue
		}
		out = append(out, e)
	}
	for i, e := range out {
		if part, ok := e.(sequencePart); ok {
			out[i] = plain{p.set.Concat(part...)}
		}
	}
	switch len(out) {
	case 0:
		return plain{Empty}
	case 1:
		return out[0]
	}
	return out
}

// sequencePart gathers neighbours without assertions.
type sequencePart []Term

func (p *parser) either(list []expr) expr {
	var terms []Term
	var out choice
	for _, e := range list {
		if t, ok := e.(plain); ok {
			terms = append(terms, t.t)
		} else {
			out = append(out, e)
		}
	}
	if len(terms) > 0 {
		out = append(out, plain{p.set.Or(terms...)})
	}
	if len(out) == 1 {
		return out[0]
	}
	return out
}
