package regex

import (
	"cmp"
	"slices"
)

// Or returns the strings of any operand; of none it is [Nothing].
func (s *Set) Or(terms ...Term) Term {
	if s.err != nil {
		return Nothing
	}
	list := s.flatten(kOr, terms)
	if len(list) == 0 {
		return Nothing
	}
	if list[0] == Nothing {
		list = list[1:]
	}
	if slices.Contains(list, Anything) || s.hasComplement(list) {
		return Anything
	}
	list = s.mergeBytes(list)
	for {
		merged := s.mergeRepeats(list)
		if len(merged) == len(list) {
			break
		}
		// What was merged may itself be a union or a set of bytes.
		list = s.flatten(kOr, merged)
		if slices.Contains(list, Anything) {
			return Anything
		}
		list = s.mergeBytes(list)
	}
	switch len(list) {
	case 0:
		return Nothing
	case 1:
		return list[0]
	}
	return s.internList(node{kind: kOr}, list)
}

// mergeBytes writes the sets of bytes in list as one.
func (s *Set) mergeBytes(list []Term) []Term {
	var union ByteSet
	count := 0
	for _, t := range list {
		if n := &s.nodes[t]; n.kind == kBytes {
			union = union.Or(s.sets[n.a])
			count++
		}
	}
	if count < 2 {
		return list
	}
	list = slices.DeleteFunc(list, func(t Term) bool { return s.nodes[t].kind == kBytes })
	t := s.OneOf(union)
	i, _ := slices.BinarySearch(list, t)
	return slices.Insert(list, i, t)
}

// counted is an operand r{min,max}·rest of a union.
type counted struct {
	r, rest  Term
	min, max int32
	term     Term
}

func (s *Set) asCounted(t Term) (counted, bool) {
	n := s.nodes[t]
	rest := Empty
	if n.kind == kConcat {
		rest = Term(n.b)
		n = s.nodes[n.a]
	}
	if n.kind != kRepeat {
		return counted{}, false
	}
	return counted{Term(n.a), rest, n.b, n.c, t}, true
}

// mergeRepeats joins operands r{a,b}·rest and r{c,d}·rest whose intervals touch.
// Without it the derivatives of counted repetitions are unions that grow with
// every byte. The empty string counts as r{0,0}.
func (s *Set) mergeRepeats(list []Term) []Term {
	var reps []counted
	for _, t := range list {
		if c, ok := s.asCounted(t); ok {
			reps = append(reps, c)
		}
	}
	if len(reps) == 0 {
		return list
	}
	order := func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.r, b.r), cmp.Compare(a.rest, b.rest), cmp.Compare(a.min, b.min),
			cmp.Compare(uint32(a.max), uint32(b.max)), cmp.Compare(a.term, b.term))
	}
	slices.SortFunc(reps, order)
	var gone, made []Term
	var group []counted
	for i := 0; i < len(reps); {
		group = group[:0]
		r, rest := reps[i].r, reps[i].rest
		// rest and r·rest are r{0,0}·rest and r{1,1}·rest.
		one := r
		if rest != Empty {
			one = s.find(r, rest)
		}
		if _, ok := slices.BinarySearch(list, rest); ok {
			group = append(group, counted{r, rest, 0, 0, rest})
		}
		if _, ok := slices.BinarySearch(list, one); ok && one != Nothing {
			group = append(group, counted{r, rest, 1, 1, one})
		}
		plain := len(group) > 0
		for ; i < len(reps) && reps[i].r == r && reps[i].rest == rest; i++ {
			group = append(group, reps[i])
		}
		if plain {
			slices.SortFunc(group, order)
		}
		for j := 0; j < len(group); {
			c, k := group[j], j+1
			for ; k < len(group) && (c.max == Unbounded || group[k].min <= c.max+1); k++ {
				if o := group[k]; c.max != Unbounded && (o.max == Unbounded || o.max > c.max) {
					c.max = o.max
				}
			}
			if k > j+1 && (c.max > 1 || c.max == Unbounded) {
				for _, o := range group[j:k] {
					gone = append(gone, o.term)
				}
				made = append(made, s.concat(s.Repeat(r, int(c.min), int(c.max)), rest))
			}
			j = k
		}
	}
	if len(made) == 0 {
		return list
	}
	slices.Sort(gone)
	out := make([]Term, 0, len(list))
	for _, t := range list {
		if _, ok := slices.BinarySearch(gone, t); !ok {
			out = append(out, t)
		}
	}
	out = append(out, made...)
	slices.Sort(out)
	return slices.Compact(out)
}

// find returns the term of the plain concatenation a·b if the set holds it,
// else Nothing.
func (s *Set) find(a, b Term) Term {
	n := node{kind: kConcat, a: int32(a), b: int32(b)}
	n.hash = s.hashOf(&n, nil)
	mask := uint32(len(s.table) - 1)
	for i := n.hash & mask; s.table[i] != Nothing; i = (i + 1) & mask {
		if s.same(s.table[i], &n, nil) {
			return s.table[i]
		}
	}
	return Nothing
}

// And returns the strings that are in every operand; of none it is [Anything].
func (s *Set) And(terms ...Term) Term {
	if s.err != nil {
		return Nothing
	}
	list := s.flatten(kAnd, terms)
	if slices.Contains(list, Nothing) || s.hasComplement(list) {
		return Nothing
	}
	list = slices.DeleteFunc(list, func(t Term) bool { return t == Anything })
	if len(list) == 0 {
		return Anything
	}
	if len(list) == 1 {
		return list[0]
	}
	if slices.Contains(list, Empty) {
		for _, t := range list {
			if !s.Nullable(t) {
				return Nothing
			}
		}
		return Empty
	}
	var common ByteSet
	count := 0
	for i, t := range list {
		switch n := &s.nodes[t]; n.kind {
		case kLit:
			return s.filterLiteral(t, slices.Delete(list, i, i+1))
		case kBytes:
			if count == 0 {
				common = s.sets[n.a]
			}
			common = common.And(s.sets[n.a])
			count++
		}
	}
	if count > 0 {
		list = slices.DeleteFunc(list, func(t Term) bool { return s.nodes[t].kind == kBytes })
		return s.filterBytes(common, list)
	}
	return s.internList(node{kind: kAnd}, list)
}

// filterLiteral returns lit if its string is in all others, else Nothing.
func (s *Set) filterLiteral(lit Term, others []Term) Term {
	text := s.lits[s.nodes[lit].a]
	for _, t := range others {
		if !s.Matches(t, text) {
			return Nothing
		}
	}
	return lit
}

// filterBytes returns those one-byte strings of b that are in all others.
func (s *Set) filterBytes(b ByteSet, others []Term) Term {
	for _, t := range others {
		var in ByteSet
		for c := range 256 {
			if b.Has(byte(c)) && s.Nullable(s.Derivative(t, byte(c))) {
				in = in.With(byte(c))
			}
		}
		b = in
	}
	return s.OneOf(b)
}
