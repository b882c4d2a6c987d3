package regex

// Respelling replaces bytes by texts in all strings of terms. No text may be the beginning of
// another one, so that different strings stay different: then what holds of unions, intersections and
// complements before holds after.
type Respelling struct {
	set  *Set
	with [256]string
	done map[Term]Term
	all  Term // every string, respelled
}

// Respell returns a replacement of bytes. A byte without a text stays as it is.
func (s *Set) Respell(with map[byte]string) *Respelling {
	r := &Respelling{set: s}
	for b := range r.with {
		r.with[b] = string([]byte{byte(b)})
	}
	for b, text := range with {
		r.with[b] = text
	}
	r.all = s.Repeat(r.bytes(AllBytes), 0, Unbounded)
	r.done = map[Term]Term{Nothing: Nothing, Empty: Empty, Anything: r.all}
	return r
}

func (r *Respelling) bytes(b ByteSet) Term {
	var same ByteSet
	var list []Term
	for c := range 256 {
		switch {
		case !b.Has(byte(c)):
		case r.with[c] == string([]byte{byte(c)}):
			same = same.With(byte(c))
		default:
			list = append(list, r.set.Literal(r.with[c]))
		}
	}
	return r.set.Or(append(list, r.set.OneOf(same))...)
}

// Term returns the respelled strings of t. Like copy, it goes down chains in a loop.
func (r *Respelling) Term(t Term) Term {
	s := r.set
	var chain []Term
	for s.nodes[t].kind == kConcat {
		if _, ok := r.done[t]; ok {
			break
		}
		chain = append(chain, t)
		t = Term(s.nodes[t].b)
	}
	u, ok := r.done[t]
	if !ok {
		u = r.node(t)
		r.done[t] = u
	}
	for i := len(chain) - 1; i >= 0; i-- {
		u = s.concat(r.Term(Term(s.nodes[chain[i]].a)), u)
		r.done[chain[i]] = u
	}
	return u
}

func (r *Respelling) node(t Term) Term {
	s := r.set
	n := s.nodes[t]
	switch n.kind {
	case kBytes:
		return r.bytes(s.sets[n.a])
	case kLit:
		u := Empty
		text := s.lits[n.a]
		for i := len(text) - 1; i >= 0; i-- {
			u = s.concat(s.literal(r.with[text[i]], true), u)
		}
		return u
	case kRepeat:
		return s.Repeat(r.Term(Term(n.a)), int(n.b), int(n.c))
	case kNot:
		return s.And(r.all, s.Not(r.Term(Term(n.a))))
	case kOr, kAnd:
		operands := append([]Term(nil), s.operands(t)...)
		for i, u := range operands {
			operands[i] = r.Term(u)
		}
		if n.kind == kOr {
			return s.Or(operands...)
		}
		return s.And(operands...)
	}
	return Nothing
}
