package regex

// Copy builds terms of another set in this one and returns them in order. It
// is how a set that has filled up with derivatives is replaced by one that
// holds what is still needed.
func (s *Set) Copy(from *Set, terms []Term) ([]Term, error) {
	done := map[Term]Term{Nothing: Nothing, Empty: Empty, Anything: Anything}
	out := make([]Term, len(terms))
	for i, t := range terms {
		out[i] = s.copy(from, t, done)
	}
	return out, s.err
}

// copy goes down chains of concatenations in a loop, and into operands by
// recursion: those nest no deeper than the expression that they were made of.
func (s *Set) copy(from *Set, t Term, done map[Term]Term) Term {
	var chain []Term
	for from.nodes[t].kind == kConcat {
		if _, ok := done[t]; ok {
			break
		}
		chain = append(chain, t)
		t = Term(from.nodes[t].b)
	}
	u, ok := done[t]
	if !ok {
		u = s.copyNode(from, t, done)
		done[t] = u
	}
	for i := len(chain) - 1; i >= 0; i-- {
		u = s.concat(s.copy(from, Term(from.nodes[chain[i]].a), done), u)
		done[chain[i]] = u
	}
	return u
}

func (s *Set) copyNode(from *Set, t Term, done map[Term]Term) Term {
	n := from.nodes[t]
	switch n.kind {
	case kBytes:
		return s.OneOf(from.sets[n.a])
	case kLit:
		return s.literal(from.lits[n.a], true)
	case kRepeat:
		return s.Repeat(s.copy(from, Term(n.a), done), int(n.b), int(n.c))
	case kNot:
		return s.Not(s.copy(from, Term(n.a), done))
	case kOr, kAnd:
		list := make([]Term, 0, n.b)
		for _, u := range from.operands(t) {
			list = append(list, s.copy(from, u, done))
		}
		if n.kind == kOr {
			return s.Or(list...)
		}
		return s.And(list...)
	}
	return Nothing
}
