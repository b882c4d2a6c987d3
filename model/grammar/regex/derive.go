package regex

// partition divides the bytes into classes that a term does not tell apart.
type partition struct {
	of   [256]uint8 // class of each byte, numbered in order of first occurrence
	reps []byte     // the smallest byte of each class
}

// Classes returns the partition of t: two bytes of one class have the same
// derivative. of maps a byte to its class, reps a class to its smallest byte.
// Both belong to the set and do not change.
func (s *Set) Classes(t Term) (of *[256]uint8, reps []byte) {
	p := s.partitions[s.classes(t)]
	return &p.of, p.reps
}

// CommonClasses returns the coarsest partition that serves all terms, as
// Classes does for one.
func (s *Set) CommonClasses(terms []Term) (of *[256]uint8, reps []byte) {
	if len(terms) == 0 {
		terms = []Term{Nothing}
	}
	id := s.classes(terms[0])
	for _, t := range terms[1:] {
		id = s.meet(id, s.classes(t))
	}
	p := s.partitions[id]
	return &p.of, p.reps
}

func (s *Set) partition(of *[256]uint8) int32 {
	// Number the classes by their smallest byte, so that equal partitions are
	// equal arrays.
	var to [256]int16
	for i := range to {
		to[i] = -1
	}
	p := &partition{}
	for b, c := range of {
		if to[c] < 0 {
			to[c] = int16(len(p.reps))
			p.reps = append(p.reps, byte(b))
		}
		p.of[b] = uint8(to[c])
	}
	if id, ok := s.partID[p.of]; ok {
		return id
	}
	id := int32(len(s.partitions))
	s.partitions = append(s.partitions, p)
	s.partID[p.of] = id
	return id
}

func (s *Set) partitionOf(b ByteSet) int32 {
	var of [256]uint8
	for i := range of {
		if b.Has(byte(i)) {
			of[i] = 1
		}
	}
	return s.partition(&of)
}

// meet returns the coarsest partition that is finer than both.
func (s *Set) meet(a, b int32) int32 {
	if a == b {
		return a
	}
	if a > b {
		a, b = b, a
	}
	if id, ok := s.meets[[2]int32{a, b}]; ok {
		return id
	}
	pa, pb := s.partitions[a], s.partitions[b]
	var of [256]uint8
	var list [256]struct{ a, b uint8 }
	count := 0
	for i := range of {
		k := 0
		for k < count && (list[k].a != pa.of[i] || list[k].b != pb.of[i]) {
			k++
		}
		if k == count {
			list[k].a, list[k].b = pa.of[i], pb.of[i]
			count++
		}
		of[i] = uint8(k)
	}
	id := s.partition(&of)
	s.meets[[2]int32{a, b}] = id
	return id
}

// classes returns the index of the partition of t.
func (s *Set) classes(t Term) int32 {
	if id := s.nodes[t].classes; id >= 0 {
		return id
	}
	n := s.nodes[t]
	var id int32
	switch n.kind {
	case kNothing, kEmpty:
		id = s.partitionOf(ByteSet{})
	case kBytes:
		id = s.partitionOf(s.sets[n.a])
	case kLit:
		b := s.lits[n.a][0]
		if id = s.ofByte[b]; id == 0 {
			id = s.partitionOf(ByteRange(b, b))
			s.ofByte[b] = id
		}
	case kConcat:
		id = s.classes(Term(n.a))
		if s.Nullable(Term(n.a)) {
			id = s.meet(id, s.classes(Term(n.b)))
		}
	case kRepeat, kNot:
		id = s.classes(Term(n.a))
	case kOr, kAnd:
		id = s.classesOfList(t)
	}
	s.nodes[t].classes = id
	return id
}

// classesOfList returns the partition that serves all operands of t. Few of
// their partitions differ, so most meets are known.
func (s *Set) classesOfList(t Term) int32 {
	n := int(s.nodes[t].b)
	id := s.classes(s.operands(t)[0])
	for i := 1; i < n; i++ {
		id = s.meet(id, s.classes(s.operands(t)[i]))
	}
	return id
}

// maxStep bounds how many operands of unions and intersections one derivative
// may handle. Beyond it the set fails: it is what ends chains of thousands of
// optional parts, whose derivatives are quadratic.
const maxStep = 2_000_000

// Derivative returns the strings w such that b followed by w is in t.
// It is computed once for each class of bytes.
func (s *Set) Derivative(t Term, b byte) Term {
	switch t {
	case Nothing, Empty:
		return Nothing
	case Anything:
		return Anything
	}
	if s.err != nil {
		return Nothing
	}
	p := s.partitions[s.classes(t)]
	c := int(p.of[b])
	row := s.nodes[t].row
	if row < 0 {
		row = int32(len(s.trans))
		for range p.reps {
			s.trans = append(s.trans, -1)
		}
		s.nodes[t].row = row
	}
	if to := s.trans[int(row)+c]; to >= 0 {
		return to
	}
	if s.depth == 0 {
		s.until = s.work + maxStep
	}
	s.depth++
	to := s.derive(t, p.reps[c])
	s.depth--
	if s.err != nil {
		return Nothing
	}
	s.trans[int(row)+c] = to
	return to
}

func (s *Set) derive(t Term, b byte) Term {
	n := s.nodes[t]
	switch n.kind {
	case kBytes:
		if s.sets[n.a].Has(b) {
			return Empty
		}
	case kLit:
		if text := s.lits[n.a]; text[0] == b {
			return s.literal(text[1:], false)
		}
	case kConcat:
		head, rest := Term(n.a), Term(n.b)
		d := s.concat(s.Derivative(head, b), rest)
		if s.Nullable(head) {
			d = s.Or(d, s.Derivative(rest, b))
		}
		return d
	case kRepeat:
		r, min, max := Term(n.a), int(n.b), int(n.c)
		d := s.Derivative(r, b)
		if d == Nothing {
			return Nothing
		}
		if max > 0 {
			max--
		}
		return s.concat(d, s.Repeat(r, min-1, max))
	case kNot:
		return s.Not(s.Derivative(Term(n.a), b))
	case kOr, kAnd:
		list := make([]Term, 0, n.b)
		for i := range int(n.b) {
			u := s.operands(t)[i]
			var d Term
			if s.nodes[u].kind == kLit {
				d = s.derive(u, b) // there may be thousands; none needs a row of its own
			} else {
				d = s.Derivative(u, b)
			}
			if d == Nothing && n.kind == kAnd {
				return Nothing
			}
			if d != Nothing {
				list = append(list, d)
			}
		}
		if n.kind == kOr {
			return s.Or(list...)
		}
		return s.And(list...)
	}
	return Nothing
}

// Matches reports whether text is in t.
func (s *Set) Matches(t Term, text string) bool {
	for i := range len(text) {
		if t = s.Derivative(t, text[i]); t == Nothing {
			return false
		}
	}
	return s.Nullable(t)
}
