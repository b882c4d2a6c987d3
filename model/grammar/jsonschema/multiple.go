package jsonschema

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

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
