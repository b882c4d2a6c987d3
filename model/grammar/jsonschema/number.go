package jsonschema

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// maxDigits bounds the digits of a number in a schema, exponents written out.
const maxDigits = 1_000

// decimal is a number as written without exponent: no leading zeros before the
// point, no trailing ones behind it.
type decimal struct {
	negative bool   // zero is not
	whole    string // "0" at least
	fraction string // may be empty
}

// parseDecimal writes out a JSON number. ok is false when it has too many digits.
func parseDecimal(text string) (d decimal, ok bool) {
	text, d.negative = strings.CutPrefix(text, "-")
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		if err != nil || n > maxDigits || n < -maxDigits {
			if strings.Trim(text[:i], "0.") == "" {
				n = 0
			} else {
				return d, false
			}
		}
		text, exponent = text[:i], n
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if exponent > 0 {
		fraction += strings.Repeat("0", max(0, exponent-len(fraction)))
		whole, fraction = whole+fraction[:exponent], fraction[exponent:]
	} else if exponent < 0 {
		whole = strings.Repeat("0", max(0, -exponent-len(whole))) + whole
		cut := len(whole) + exponent
		whole, fraction = whole[:cut], whole[cut:]+fraction
	}
	d.whole, d.fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if d.whole == "" {
		d.whole = "0"
		d.negative = d.negative && d.fraction != ""
	}
	return d, len(d.whole)+len(d.fraction) <= maxDigits
}

func (d decimal) isZero() bool { return d.whole == "0" && d.fraction == "" }

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

// atMost returns the numbers up to d, d itself only if inclusive.
func (n *numberTerms) atMost(d decimal, inclusive bool) numbers {
	return n.not(n.atLeast(d, !inclusive))
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
	all := n.set.Concat(n.whole, n.fraction)
	return n.set.And(all, n.set.Not(n.magnitudeAbove(d, !inclusive)))
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

// Bounds of multipleOf beyond which no term is made.
const (
	maxResidues = 11   // residues of the part that shares no factor with 10; its term has up to 2^residues states
	maxSuffixes = 1024 // endings of the part that does
)

// multipleOf returns the multiples of d > 0. ok is false when the term would be
// too large.
//
// d = m / 10^k, and m = r * q with q of factors 2 and 5 only. A number is a
// multiple if it has at most k digits behind the point (zeros apart), its
// digits read as a whole are a multiple of r, zeros at the end do not matter
// as 10 has an inverse modulo r, and they end as multiples of q end.
func (n *numberTerms) multipleOf(d decimal) (numbers, bool) {
	k := len(d.fraction)
	m, _ := new(big.Int).SetString(d.whole+d.fraction, 10)
	q, t := big.NewInt(1), 0
	for _, p := range []int64{2, 5} {
		prime, times := big.NewInt(p), 0
		for {
			quotient, rest := new(big.Int).QuoRem(m, prime, new(big.Int))
			if rest.Sign() != 0 {
				break
			}
			m = quotient
			q.Mul(q, prime)
			times++
		}
		t = max(t, times)
	}
	endings, ok := n.endings(q, t, k)
	if !ok {
		return numbers{}, false
	}
	out := n.set.Concat(n.minus, endings)
	for _, r := range coprimeFactors(m) {
		if r > maxResidues {
			return numbers{}, false
		}
		out = n.set.And(out, n.residue(r))
	}
	return numbers{out, 0, allSigns}, true
}

// coprimeFactors writes m as a product of powers of different primes. What is
// left above the bound comes as one factor above it.
func coprimeFactors(m *big.Int) []int {
	var out []int
	rest := new(big.Int).Set(m)
	for p := int64(3); p <= maxResidues; p += 2 {
		power, prime := int64(1), big.NewInt(p)
		for {
			quotient, r := new(big.Int).QuoRem(rest, prime, new(big.Int))
			if r.Sign() != 0 {
				break
			}
			rest = quotient
			if power *= p; power > maxResidues {
				return []int{maxResidues + 1}
			}
		}
		if power > 1 {
			out = append(out, int(power))
		}
	}
	if rest.Cmp(big.NewInt(1)) != 0 {
		out = append(out, maxResidues+1)
	}
	return out
}

// endings returns the numbers without sign whose digits, k of them behind the
// point, end like a multiple of q, which divides 10^t.
func (n *numberTerms) endings(q *big.Int, t, k int) (regex.Term, bool) {
	set := n.set
	if t > 12 {
		return regex.Nothing, false
	}
	all := int64(1)
	for range t {
		all *= 10
	}
	step := q.Int64()
	if all/step > maxSuffixes {
		return regex.Nothing, false
	}
	out := regex.Nothing
	for i := int64(0); i < all; i += step {
		digits := ""
		if t > 0 {
			digits = strconv.FormatInt(all+i, 10)[1:]
		}
		split := max(0, t-k)
		out = set.Or(out, set.Concat(n.wholeEnding(digits[:split]), n.fractionEnding(k-(t-split), digits[split:])))
	}
	return out, true
}

// wholeEnding returns the digits before the point that end with digits.
func (n *numberTerms) wholeEnding(digits string) regex.Term {
	set := n.set
	if digits == "" {
		return n.whole
	}
	short := strings.TrimLeft(digits, "0")
	if short == "" {
		short = "0"
	}
	return set.Or(set.Literal(short), set.Concat(n.positive, n.tail, set.Literal(digits)))
}

// fractionEnding returns the fractions of free digits and then these, zeros apart.
func (n *numberTerms) fractionEnding(free int, digits string) regex.Term {
	set := n.set
	if digits = strings.TrimRight(digits, "0"); digits != "" {
		return set.Concat(n.point, set.Repeat(n.digit, free, free), set.Literal(digits), n.zeros(0))
	}
	if free == 0 {
		return n.zeroFraction
	}
	return n.maybe(set.Concat(n.point, set.Repeat(n.digit, 1, free), n.zeros(0)))
}

// residue returns the texts whose digits, read as one whole number, are a
// multiple of r. It eliminates the states of the automaton of residues.
func (n *numberTerms) residue(r int) regex.Term {
	set := n.set
	step := make([][]regex.Term, r)
	for i := range step {
		step[i] = make([]regex.Term, r)
		sets := make([]regex.ByteSet, r)
		for d := range 10 {
			j := (i*10 + d) % r
			sets[j] = sets[j].With(byte('0' + d))
		}
		sets[i] = sets[i].With('-').With('.')
		for j := range step[i] {
			step[i][j] = set.OneOf(sets[j])
		}
	}
	// Eliminate all but residue 0, which is where the text begins and ends.
	for gone := r - 1; gone > 0; gone-- {
		loop := set.Repeat(step[gone][gone], 0, regex.Unbounded)
		for i := range gone {
			if step[i][gone] == regex.Nothing {
				continue
			}
			for j := range gone {
				if step[gone][j] != regex.Nothing {
					step[i][j] = set.Or(step[i][j], set.Concat(step[i][gone], loop, step[gone][j]))
				}
			}
		}
	}
	return set.Repeat(step[0][0], 0, regex.Unbounded)
}
