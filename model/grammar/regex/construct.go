package regex

import "slices"

// maxLiteral is the length, in bytes, up to which neighbours are joined into
// one literal. Longer texts are chains of literals, so that a derivative does
// not hash a megabyte.
const maxLiteral = 512

// OneOf returns the language of the one-byte strings in b.
func (s *Set) OneOf(b ByteSet) Term {
	if b == (ByteSet{}) || s.err != nil {
		return Nothing
	}
	id, ok := s.setID[b]
	if !ok {
		id = int32(len(s.sets))
		s.sets = append(s.sets, b)
		s.setID[b] = id
	}
	return s.intern(node{kind: kBytes, a: id})
}

// Literal returns the language of text alone.
func (s *Set) Literal(text string) Term {
	t := Empty
	for len(text) > 0 {
		n := (len(text) - 1) / maxLiteral * maxLiteral
		t = s.Concat(s.literal(text[n:], true), t)
		text = text[:n]
	}
	return t
}

// literal returns the term of a text of at most maxLiteral bytes. fresh: its
// memory is not shared with another literal of the set.
func (s *Set) literal(text string, fresh bool) Term {
	switch len(text) {
	case 0:
		return Empty
	case 1:
		return s.OneOf(ByteRange(text[0], text[0]))
	}
	if s.err != nil {
		return Nothing
	}
	id, ok := s.litID[text]
	if !ok {
		id = int32(len(s.lits))
		s.lits = append(s.lits, text)
		s.litID[text] = id
		if fresh {
			s.text += len(text)
		}
	}
	return s.intern(node{kind: kLit, a: id})
}

// textOf returns the only string of t where t is a literal or a single byte.
func (s *Set) textOf(t Term) (string, bool) {
	n := &s.nodes[t]
	switch n.kind {
	case kLit:
		return s.lits[n.a], true
	case kBytes:
		if b := s.sets[n.a]; b.Len() == 1 {
			return string([]byte{b.First()}), true
		}
	}
	return "", false
}

// Concat returns the strings that are one of each operand, in order.
func (s *Set) Concat(terms ...Term) Term {
	t := Empty
	for i := len(terms) - 1; i >= 0; i-- {
		t = s.concat(terms[i], t)
	}
	return t
}

func (s *Set) concat(a, b Term) Term {
	if s.err != nil {
		return Nothing
	}
	switch {
	case a == Nothing || b == Nothing:
		return Nothing
	case a == Empty:
		return b
	case b == Empty:
		return a
	}
	// A concatenation on the left is taken apart, so that chains lean right.
	if s.nodes[a].kind == kConcat {
		var parts []Term
		for s.nodes[a].kind == kConcat {
			parts = append(parts, Term(s.nodes[a].a))
			a = Term(s.nodes[a].b)
		}
		b = s.concat(a, b)
		for i := len(parts) - 1; i >= 0; i-- {
			b = s.concat(parts[i], b)
		}
		return b
	}
	head, rest := b, Empty
	if n := s.nodes[b]; n.kind == kConcat {
		head, rest = Term(n.a), Term(n.b)
	}
	if joined, ok := s.join(a, head); ok {
		return s.concat(joined, rest)
	}
	return s.intern(node{kind: kConcat, a: int32(a), b: int32(b)})
}

// join writes two neighbours as one term where a rule says so.
func (s *Set) join(a, b Term) (Term, bool) {
	if x, ok := s.textOf(a); ok {
		if y, ok := s.textOf(b); ok && len(x)+len(y) <= maxLiteral {
			return s.literal(x+y, true), true
		}
	}
	na, nb := s.nodes[a], s.nodes[b]
	r, mina, maxa, minb, maxb := Nothing, int32(1), int32(1), int32(1), int32(1)
	switch {
	case na.kind == kRepeat && nb.kind == kRepeat && na.a == nb.a:
		r, mina, maxa, minb, maxb = Term(na.a), na.b, na.c, nb.b, nb.c
	case na.kind == kRepeat && Term(na.a) == b:
		r, mina, maxa = b, na.b, na.c
	case nb.kind == kRepeat && Term(nb.a) == a:
		r, minb, maxb = a, nb.b, nb.c
	default:
		return 0, false
	}
	if mina > MaxRepeat-minb || maxa > MaxRepeat-maxb {
		return 0, false
	}
	max := maxa + maxb
	if maxa < 0 || maxb < 0 {
		max = Unbounded
	}
	return s.Repeat(r, int(mina+minb), int(max)), true
}

// MaxRepeat is the largest bound of a counted repetition.
const MaxRepeat = 1 << 30

// Repeat returns the strings that are between min and max strings of t, one
// after the other. max < 0: there is no maximum. A min above max gives
// [Nothing]. Bounds above [MaxRepeat] fail the set.
func (s *Set) Repeat(t Term, min, max int) Term {
	if s.err != nil {
		return Nothing
	}
	if min > MaxRepeat || max > MaxRepeat {
		return s.fail()
	}
	if max < 0 {
		max = Unbounded
	}
	switch {
	case min < 0:
		min = 0
	case max != Unbounded && min > max:
		return Nothing
	}
	switch {
	case max == 0:
		return Empty
	case t == Nothing:
		if min == 0 {
			return Empty
		}
		return Nothing
	case t == Empty || t == Anything:
		return t
	case min == 1 && max == 1:
		return t
	}
	if s.Nullable(t) {
		min = 0
	}
	if min == 0 && max == 1 {
		return s.Or(Empty, t)
	}
	n := s.nodes[t]
	if n.kind == kRepeat && max == Unbounded && min <= 1 {
		// (r{0,n})* and (r{1,n})* are r*, likewise with plus.
		if n.b <= 1 {
			return s.Repeat(Term(n.a), int(n.b)*min, Unbounded)
		}
	}
	if n.kind == kRepeat && n.b == 0 && n.c == Unbounded {
		return t // (r*){m,n} with n > 0
	}
	if t == s.all && min == 0 && max == Unbounded {
		return Anything
	}
	return s.intern(node{kind: kRepeat, a: int32(t), b: int32(min), c: int32(max)})
}

// Not returns the strings that are not in t.
func (s *Set) Not(t Term) Term {
	switch t {
	case Nothing:
		if s.err != nil {
			return Nothing
		}
		return Anything
	case Anything:
		return Nothing
	}
	if n := &s.nodes[t]; n.kind == kNot {
		return Term(n.a)
	}
	return s.intern(node{kind: kNot, a: int32(t)})
}

// flatten returns the sorted operands of terms, nested ones of kind k included.
//
// Nested ones are sorted already, and in long chains of optional parts they are thousands of
// lists with the same operands: merged by twos they shrink at once.
func (s *Set) flatten(k kind, terms []Term) []Term {
	single := make([]Term, 0, len(terms)+4)
	var lists [][]Term
	for _, t := range terms {
		if s.nodes[t].kind == k {
			list := s.operands(t)
			lists = append(lists, list)
			s.work += len(list)
		} else {
			single = append(single, t)
		}
	}
	if s.work += len(single); s.depth > 0 && s.work > s.until {
		s.fail()
		return single
	}
	slices.Sort(single)
	single = slices.Compact(single)
	if len(lists) == 0 {
		return single
	}
	for len(lists) > 1 {
		half := lists[:0]
		for i := 0; i < len(lists); i += 2 {
			if i+1 < len(lists) {
				half = append(half, merge(lists[i], lists[i+1]))
			} else {
				half = append(half, lists[i])
			}
		}
		lists = half
	}
	return merge(single, lists[0]) // a list of its own: the caller changes it
}

// merge returns the terms of two sorted lists without duplicates, sorted.
func merge(a, b []Term) []Term {
	out := make([]Term, 0, len(a)+len(b)+4)
	for len(a) > 0 && len(b) > 0 {
		n := 0
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
			continue
		case a[0] == b[0]:
			a = a[1:]
			continue
		}
		for n < len(b) && b[n] < a[0] {
			n++
		}
		out, b = append(out, b[:n]...), b[n:]
	}
	return append(append(out, a...), b...)
}

func (s *Set) hasComplement(list []Term) bool {
	for _, t := range list {
		if n := &s.nodes[t]; n.kind == kNot {
			if _, ok := slices.BinarySearch(list, Term(n.a)); ok {
				return true
			}
		}
	}
	return false
}
