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
	maxEndings  = 1024 // endings of the part that does
	maxFactor   = 4096 // or that part itself
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
	if t > 12 {
		return regex.Nothing, false
	}
	// The digits are w*shift + f, with f behind the point. shift and q share
	// step, so f must be a multiple of it, and the rest has an inverse:
	// w = -f/step / (shift/step) modulo q/step.
	split := max(0, t-k)
	shift := power10(t - split)
	step := new(big.Int).GCD(nil, nil, q, big.NewInt(shift)).Int64()
	if power10(t)/q.Int64() > maxEndings && q.Int64() > maxFactor || shift/step > maxEndings {
		return regex.Nothing, false
	}
	modulus := new(big.Int).Div(q, big.NewInt(step))
	inverse := new(big.Int).ModInverse(big.NewInt(shift/step), modulus)
	w := wholeEndings{n, modulus.Int64(), map[[2]int64]regex.Term{}}
	out := regex.Nothing
	for f := int64(0); f < shift; f += step {
		rest := new(big.Int).Mul(big.NewInt(-f/step), inverse)
		digits := ""
		if t > split {
			digits = strconv.FormatInt(shift+f, 10)[1:]
		}
		whole := w.whole(split, rest.Mod(rest, modulus).Int64())
		out = n.set.Or(out, n.set.Concat(whole, n.fractionEnding(k-(t-split), digits)))
	}
	return out, true
}

func power10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// wholeEndings makes terms of whole numbers that leave a rest when divided by
// modulus. Only their last digits matter. What these must leave behind one of
// them is the same for many beginnings, so the terms are small: endings are not
// listed one by one.
type wholeEndings struct {
	*numberTerms
	modulus int64
	made    map[[2]int64]regex.Term // by the number of digits, and the rest
}

// whole returns the whole numbers whose rest the last count digits decide.
func (w *wholeEndings) whole(count int, rest int64) regex.Term {
	if count == 0 {
		return w.numberTerms.whole
	}
	t := w.set.Concat(w.positive, w.tail, w.digits(count, rest))
	if rest == 0 {
		t = w.set.Or(t, w.set.Literal("0"))
	}
	for n := 1; n <= count; n++ {
		t = w.set.Or(t, w.from('1', n, rest))
	}
	return t
}

// digits returns the strings of count digits that leave rest.
func (w *wholeEndings) digits(count int, rest int64) regex.Term {
	switch {
	case rest >= power10(count):
		return regex.Nothing
	case count == 0:
		return regex.Empty
	}
	key := [2]int64{int64(count), rest}
	t, ok := w.made[key]
	if !ok {
		t = w.from('0', count, rest)
		w.made[key] = t
	}
	return t
}

// from is digits for strings whose first digit is not below lowest.
func (w *wholeEndings) from(lowest byte, count int, rest int64) regex.Term {
	weight := power10(count-1) % w.modulus
	var order []int64
	first := map[int64]regex.ByteSet{}
	for d := lowest; d <= '9'; d++ {
		left := ((rest-int64(d-'0')*weight)%w.modulus + w.modulus) % w.modulus
		if _, ok := first[left]; !ok {
			order = append(order, left)
		}
		first[left] = first[left].With(d)
	}
	t := regex.Nothing
	for _, left := range order {
		t = w.set.Or(t, w.set.Concat(w.set.OneOf(first[left]), w.digits(count-1, left)))
	}
	return t
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
