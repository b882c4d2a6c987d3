package regex

import "errors"

// Term names a regular language of a [Set]. Terms of different sets have
// nothing to do with each other, the three constants apart.
type Term int32

// The terms that every set begins with.
const (
	Nothing  Term = 0 // the empty language
	Empty    Term = 1 // the language of the empty string alone
	Anything Term = 2 // every string of bytes, valid UTF-8 or not
)

// Unbounded is a maximum for [Set.Repeat]: there is none.
const Unbounded = -1

// Limits bound a [Set]. They are hard.
type Limits struct {
	// Terms is the maximum number of terms. Zero: 1,000,000.
	Terms int
	// Bytes is the maximum of [Set.Bytes]. Zero: 128 MiB.
	Bytes int
	// Width is the maximum number of operands of one union or intersection.
	// Zero: 500,000. It is what stops nested counted repetitions, whose
	// derivatives are wide unions.
	Width int
}

func (l Limits) withDefaults() Limits {
	if l.Terms == 0 {
		l.Terms = 1_000_000
	}
	if l.Bytes == 0 {
		l.Bytes = 128 << 20
	}
	if l.Width == 0 {
		l.Width = 500_000
	}
	return l
}

// ErrLimit is the failure of a set that would outgrow its limits.
var ErrLimit = errors.New("the expression needs more memory than it may have")

// errClasses is an [ErrLimit], too.
var errClasses error = classesError{}

type classesError struct{}

func (classesError) Error() string {
	return "the character classes of the expression are too many or too large"
}

func (classesError) Is(target error) bool { return target == ErrLimit }

type kind uint8

const (
	kNothing kind = iota
	kEmpty
	kBytes  // a: index into sets
	kLit    // a: index into lits; at least two bytes
	kConcat // a, b; a is neither a concatenation nor empty
	kRepeat // a{b,c}; c < 0: unbounded
	kOr     // args[a : a+b], sorted, two at least
	kAnd    // args[a : a+b], sorted, two at least
	kNot    // a
)

const (
	flagNullable = 1 << iota
	flagBoolean  // holds an intersection or a complement, so may be empty unnoticed
	flagSeenEmpty
	flagSeenFull
)

// node is one term. See kind for the meaning of a, b and c.
type node struct {
	kind    kind
	flags   uint8
	a, b, c int32
	hash    uint32
	classes int32 // index of a partition, -1: not computed
	row     int32 // offset of the transitions in trans, -1: none
}

// Set is a store of terms. The zero value is not usable, see [NewSet].
type Set struct {
	limits Limits
	err    error

	nodes []node
	table []Term // open addressing, Nothing: free
	args  []Term
	sets  []ByteSet
	setID map[ByteSet]int32
	lits  []string
	litID map[string]int32
	text  int // bytes of literals

	partitions []*partition
	partID     map[[256]uint8]int32
	meets      map[[2]int32]int32
	trans      []Term     // -1: not computed
	ofByte     [256]int32 // the partitions of single bytes; 0: not computed

	runes int     // the work for character classes so far, see maxRunes
	all   Term    // the one-byte strings
	tails [4]Term // see allTails; Nothing: not made
	work  int     // operands handled so far, a measure of time

	depth int // of derivatives that are being computed
	until int // work at which the outermost one fails
}

const (
	nodeBytes      = 28 + 4*2 // node, and its share of the table
	partitionBytes = 256*2 + 64 + 32 + 32
)

// NewSet returns a set with the three constants in it.
func NewSet(limits Limits) *Set {
	s := &Set{
		limits: limits.withDefaults(),
		table:  make([]Term, 64),
		setID:  map[ByteSet]int32{},
		litID:  map[string]int32{},
		partID: map[[256]uint8]int32{},
		meets:  map[[2]int32]int32{},
	}
	s.nodes = append(s.nodes,
		node{kind: kNothing, classes: -1, row: -1},
		node{kind: kEmpty, flags: flagNullable, classes: -1, row: -1})
	s.nodes = append(s.nodes, node{kind: kRepeat, flags: flagNullable, a: 3, b: 0, c: Unbounded, classes: -1, row: -1})
	s.sets = append(s.sets, AllBytes)
	s.setID[AllBytes] = 0
	s.all = s.intern(node{kind: kBytes})
	return s
}

// Err is nil, or why terms of this set can no longer be believed.
func (s *Set) Err() error { return s.err }

// Limits returns the limits that hold, defaults filled in.
func (s *Set) Limits() Limits { return s.limits }

// Len returns the number of terms.
func (s *Set) Len() int { return len(s.nodes) }

// Bytes returns roughly how much memory the set holds.
func (s *Set) Bytes() int {
	return len(s.nodes)*nodeBytes + 4*len(s.args) + 4*len(s.trans) + s.text +
		80*len(s.sets) + 48*len(s.lits) + partitionBytes*len(s.partitions) + 24*len(s.meets)
}

func (s *Set) fail() Term {
	if s.err == nil {
		s.err = ErrLimit
	}
	return Nothing
}

func mix(h, x uint32) uint32 {
	h ^= x
	h *= 0x9e3779b1
	return h ^ h>>15
}

func (s *Set) hashOf(n *node, args []Term) uint32 {
	h := mix(uint32(n.kind)+1, 0)
	if args != nil {
		for _, t := range args {
			h = mix(h, uint32(t))
		}
		return h
	}
	return mix(mix(mix(h, uint32(n.a)), uint32(n.b)), uint32(n.c))
}

// intern returns the term of a node without operand list.
func (s *Set) intern(n node) Term { return s.internList(n, nil) }

// internList returns the term of n. args, if given, are copied.
func (s *Set) internList(n node, args []Term) Term {
	if s.err != nil {
		return Nothing
	}
	n.hash = s.hashOf(&n, args)
	mask := uint32(len(s.table) - 1)
	i := n.hash & mask
	for ; s.table[i] != Nothing; i = (i + 1) & mask {
		if s.same(s.table[i], &n, args) {
			return s.table[i]
		}
	}
	if len(s.nodes) >= s.limits.Terms || len(args) > s.limits.Width || s.Bytes() > s.limits.Bytes {
		return s.fail()
	}
	if args != nil {
		n.a, n.b = int32(len(s.args)), int32(len(args))
		s.args = append(s.args, args...)
	}
	n.flags = s.flagsOf(&n)
	n.classes, n.row = -1, -1
	t := Term(len(s.nodes))
	s.nodes = append(s.nodes, n)
	s.table[i] = t
	if 2*len(s.nodes) > len(s.table) {
		s.grow()
	}
	return t
}

func (s *Set) same(t Term, n *node, args []Term) bool {
	o := &s.nodes[t]
	if o.hash != n.hash || o.kind != n.kind {
		return false
	}
	if args == nil {
		return o.a == n.a && o.b == n.b && o.c == n.c
	}
	if int(o.b) != len(args) {
		return false
	}
	for i, t := range s.args[o.a : o.a+o.b] {
		if t != args[i] {
			return false
		}
	}
	return true
}

func (s *Set) grow() {
	s.table = make([]Term, 2*len(s.table))
	mask := uint32(len(s.table) - 1)
	for t := 3; t < len(s.nodes); t++ {
		i := s.nodes[t].hash & mask
		for s.table[i] != Nothing {
			i = (i + 1) & mask
		}
		s.table[i] = Term(t)
	}
}

// operands returns the operand list of a union or intersection. It belongs to
// the set and is valid until the next constructor.
func (s *Set) operands(t Term) []Term {
	n := &s.nodes[t]
	return s.args[n.a : n.a+n.b]
}

func (s *Set) flagsOf(n *node) uint8 {
	of := func(t int32) uint8 { return s.nodes[t].flags }
	var f uint8
	switch n.kind {
	case kBytes, kLit, kNothing:
	case kEmpty:
		f = flagNullable
	case kConcat:
		f = of(n.a)&of(n.b)&flagNullable | (of(n.a)|of(n.b))&flagBoolean
	case kRepeat:
		f = of(n.a) & (flagNullable | flagBoolean)
		if n.b == 0 {
			f |= flagNullable
		}
	case kOr:
		for _, t := range s.args[n.a : n.a+n.b] {
			f |= of(int32(t)) & (flagNullable | flagBoolean)
		}
	case kAnd:
		f = flagNullable
		for _, t := range s.args[n.a : n.a+n.b] {
			f &= of(int32(t))
		}
		f |= flagBoolean
	case kNot:
		f = (^of(n.a) & flagNullable) | flagBoolean
	}
	return f
}

// Nullable reports whether the empty string is in t.
func (s *Set) Nullable(t Term) bool { return s.nodes[t].flags&flagNullable != 0 }
