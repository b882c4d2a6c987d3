package jsonschema

import "github.com/troupe-engine/troupe/model/grammar/regex"

// signs is a set of signs of numbers.
type signs uint8

const (
	negative signs = 1 << iota
	zero
	positive
	allSigns = negative | zero | positive
)

func (d decimal) sign() signs {
	switch {
	case d.isZero():
		return zero
	case d.negative:
		return negative
	}
	return positive
}

// numbers is a set of numbers. Those spelled without exponent are in plain. Of
// the others it is only known that those whose sign is in all are in the set,
// and those whose sign is not in some are not.
type numbers struct {
	plain     regex.Term
	all, some signs
}

// numberTerms makes terms of numbers.
type numberTerms struct {
	set          *regex.Set
	digit, tail  regex.Term // a digit; any digits
	positive     regex.Term // 1 to 9
	point        regex.Term
	minus        regex.Term // optional
	whole        regex.Term // of a number that is not negative
	fraction     regex.Term // with its point; may be missing
	zeroFraction regex.Term // likewise, of zeros alone
	every        regex.Term // every number without exponent
	integer      regex.Term
	exponent     regex.Term
}

func newNumberTerms(set *regex.Set) *numberTerms {
	n := &numberTerms{set: set}
	n.digit = set.OneOf(regex.ByteRange('0', '9'))
	n.positive = set.OneOf(regex.ByteRange('1', '9'))
	n.tail = set.Repeat(n.digit, 0, regex.Unbounded)
	n.point = set.Literal(".")
	n.minus = set.Repeat(set.Literal("-"), 0, 1)
	n.whole = set.Or(set.Literal("0"), set.Concat(n.positive, n.tail))
	n.fraction = n.maybe(set.Concat(n.point, n.digit, n.tail))
	n.zeroFraction = n.maybe(set.Concat(n.point, n.zeros(1)))
	n.every = set.Concat(n.minus, n.whole, n.fraction)
	n.integer = set.Concat(n.minus, n.whole, n.zeroFraction)
	sign := set.Repeat(set.OneOf(regex.SetOf("+-")), 0, 1)
	n.exponent = set.Concat(set.OneOf(regex.SetOf("eE")), sign, set.Repeat(n.digit, 1, 3))
	return n
}

func (n *numberTerms) maybe(t regex.Term) regex.Term { return n.set.Repeat(t, 0, 1) }

func (n *numberTerms) zeros(least int) regex.Term {
	return n.set.Repeat(n.set.Literal("0"), least, regex.Unbounded)
}

// full is the set of all numbers.
func (n *numberTerms) full() numbers { return numbers{n.every, allSigns, allSigns} }

func (n *numberTerms) and(a, b numbers) numbers {
	out := numbers{a.plain, a.all & b.all, a.some & b.some}
	switch {
	case a.plain == n.every:
		out.plain = b.plain
	case b.plain != n.every:
		out.plain = n.set.And(a.plain, b.plain)
	}
	return out
}

func (n *numberTerms) or(a, b numbers) numbers {
	out := numbers{n.every, a.all | b.all, a.some | b.some}
	if a.plain != n.every && b.plain != n.every {
		out.plain = n.set.Or(a.plain, b.plain)
	}
	return out
}

func (n *numberTerms) not(a numbers) numbers {
	out := numbers{regex.Nothing, allSigns &^ a.some, allSigns &^ a.all}
	if a.plain == regex.Nothing {
		out.plain = n.every
	} else if a.plain != n.every {
		out.plain = n.set.And(n.every, n.set.Not(a.plain))
	}
	return out
}

// spelled returns every spelling that is known to be in a.
func (n *numberTerms) spelled(a numbers) regex.Term {
	if a.all == 0 {
		return a.plain
	}
	var mantissas regex.Term
	zeros := n.set.Concat(n.set.Literal("0"), n.zeroFraction)
	magnitude := n.set.Concat(n.whole, n.fraction)
	nonzero := n.set.And(magnitude, n.set.Not(zeros))
	switch {
	case a.all == allSigns:
		mantissas = n.every
	case a.all == zero|positive:
		mantissas = n.set.Or(magnitude, n.set.Concat(n.minus, zeros))
	default:
		if a.all&zero != 0 {
			mantissas = n.set.Concat(n.minus, zeros)
		}
		if a.all&positive != 0 {
			mantissas = n.set.Or(mantissas, nonzero)
		}
		if a.all&negative != 0 {
			mantissas = n.set.Or(mantissas, n.set.Concat(n.set.Literal("-"), nonzero))
		}
	}
	return n.set.Or(a.plain, n.set.Concat(mantissas, n.exponent))
}

// equal returns the numbers that have the value of d: one.
func (n *numberTerms) equal(d decimal) numbers {
	set := n.set
	t := set.Literal(d.whole)
	if d.fraction == "" {
		t = set.Concat(t, n.zeroFraction)
	} else {
		t = set.Concat(t, n.point, set.Literal(d.fraction), n.zeros(0))
	}
	switch {
	case d.isZero():
		t = set.Concat(n.minus, t)
	case d.negative:
		t = set.Concat(set.Literal("-"), t)
	}
	return numbers{t, 0, d.sign()}
}

// atLeast returns the numbers from d on, d itself only if inclusive.
func (n *numberTerms) atLeast(d decimal, inclusive bool) numbers {
	set := n.set
	magnitude := set.Concat(n.whole, n.fraction)
	switch d.sign() {
	case positive:
		return numbers{n.magnitudeAbove(d, inclusive), 0, positive}
	case zero:
		if inclusive {
			return numbers{set.Or(magnitude, n.equal(d).plain), zero | positive, zero | positive}
		}
		return numbers{n.magnitudeAbove(d, false), positive, positive}
	}
	d.negative = false
	below := set.Concat(set.Literal("-"), n.magnitudeBelow(d, inclusive))
	return numbers{set.Or(magnitude, below), zero | positive, allSigns}
}

// atMost returns the numbers up to d, d itself only if inclusive. It is the
// complement of atLeast, but made without one: where nothing can follow any
// more that shows at once, and need not be found out.
func (n *numberTerms) atMost(d decimal, inclusive bool) numbers {
	set := n.set
	minus := set.Literal("-")
	anyNegative := set.Concat(minus, n.whole, n.fraction)
	switch d.sign() {
	case positive:
		return numbers{set.Or(anyNegative, n.magnitudeBelow(d, inclusive)), negative | zero, allSigns}
	case zero:
		if inclusive {
			return numbers{set.Or(anyNegative, n.equal(d).plain), negative | zero, negative | zero}
		}
		return numbers{set.Concat(minus, n.magnitudeAbove(d, false)), negative, negative}
	}
	d.negative = false
	return numbers{set.Concat(minus, n.magnitudeAbove(d, inclusive)), 0, negative}
}

// magnitudeAbove returns the numbers without sign above d >= 0, d itself if inclusive.
func (n *numberTerms) magnitudeAbove(d decimal, inclusive bool) regex.Term {
	set := n.set
	// With as many digits: the first difference decides.
	t := n.fractionAbove(d.fraction, inclusive)
	for i := len(d.whole) - 1; i >= 0; i-- {
		c := d.whole[i]
		t = set.Concat(set.OneOf(regex.ByteRange(c, c)), t)
		if c < '9' {
			more := len(d.whole) - 1 - i
			t = set.Or(t, set.Concat(set.OneOf(regex.ByteRange(c+1, '9')), set.Repeat(n.digit, more, more), n.fraction))
		}
	}
	longer := set.Concat(n.positive, set.Repeat(n.digit, len(d.whole), regex.Unbounded), n.fraction)
	return set.Or(t, longer)
}

// magnitudeBelow returns the numbers without sign below d >= 0, d itself if inclusive.
func (n *numberTerms) magnitudeBelow(d decimal, inclusive bool) regex.Term {
	set := n.set
	// With as many digits: the first difference decides.
	t := n.fractionBelow(d.fraction, inclusive)
	last := len(d.whole) - 1
	for i := last; i >= 0; i-- {
		c, lowest := d.whole[i], byte('0')
		if i == 0 && last > 0 {
			lowest = '1'
		}
		t = set.Concat(set.OneOf(regex.ByteRange(c, c)), t)
		if c > lowest {
			t = set.Or(t, set.Concat(set.OneOf(regex.ByteRange(lowest, c-1)), set.Repeat(n.digit, last-i, last-i), n.fraction))
		}
	}
	if last > 0 {
		shorter := set.Or(set.Literal("0"), set.Concat(n.positive, set.Repeat(n.digit, 0, last-1)))
		t = set.Or(t, set.Concat(shorter, n.fraction))
	}
	return t
}

// fractionAbove returns the fractions, with their point, above that of the
// digits, itself if inclusive.
func (n *numberTerms) fractionAbove(digits string, inclusive bool) regex.Term {
	set := n.set
	if digits == "" {
		if inclusive {
			return n.fraction
		}
		return set.Concat(n.point, n.zeros(0), n.positive, n.tail)
	}
	t := n.tail
	if !inclusive {
		t = set.Concat(n.zeros(0), n.positive, n.tail)
	}
	for i := len(digits) - 1; i >= 0; i-- {
		c := digits[i]
		t = set.Concat(set.OneOf(regex.ByteRange(c, c)), t)
		if c < '9' {
			t = set.Or(t, set.Concat(set.OneOf(regex.ByteRange(c+1, '9')), n.tail))
		}
	}
	return set.Concat(n.point, t)
}

// fractionBelow returns the fractions, with their point, below that of the
// digits, itself if inclusive. The last of the digits is not 0.
func (n *numberTerms) fractionBelow(digits string, inclusive bool) regex.Term {
	set := n.set
	if digits == "" {
		if inclusive {
			return n.zeroFraction
		}
		return regex.Nothing
	}
	t := regex.Nothing
	if inclusive {
		t = n.zeros(0)
	}
	for i := len(digits) - 1; i >= 0; i-- {
		c := digits[i]
		if i < len(digits)-1 {
			t = set.Or(t, regex.Empty) // without the digits that follow
		}
		t = set.Concat(set.OneOf(regex.ByteRange(c, c)), t)
		if c > '0' {
			t = set.Or(t, set.Concat(set.OneOf(regex.ByteRange('0', c-1)), n.tail))
		}
	}
	return n.maybe(set.Concat(n.point, t))
}
