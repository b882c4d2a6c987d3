package regex

import (
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// RuneRange is the code points [Lo, Hi], both included.
type RuneRange struct{ Lo, Hi rune }

// AllRunes is every code point that UTF-8 can write.
var AllRunes = []RuneRange{{0, 0xd7ff}, {0xe000, unicode.MaxRune}}

// NormalizeRunes returns the same code points sorted, without overlap, without
// surrogates. The argument is left as it is.
func NormalizeRunes(ranges []RuneRange) []RuneRange {
	var list []RuneRange
	for _, r := range ranges {
		for _, legal := range AllRunes {
			if lo, hi := max(r.Lo, legal.Lo), min(r.Hi, legal.Hi); lo <= hi {
				list = append(list, RuneRange{lo, hi})
			}
		}
	}
	slices.SortFunc(list, func(a, b RuneRange) int { return int(a.Lo) - int(b.Lo) })
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi+1 {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// NegateRunes returns the code points that are not in ranges.
func NegateRunes(ranges []RuneRange) []RuneRange {
	var out []RuneRange
	next := rune(0)
	for _, r := range NormalizeRunes(ranges) {
		if r.Lo > next {
			out = append(out, RuneRange{next, r.Lo - 1})
		}
		next = r.Hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, RuneRange{next, unicode.MaxRune})
	}
	return NormalizeRunes(out)
}

// IntersectRunes returns the code points that are in both.
func IntersectRunes(a, b []RuneRange) []RuneRange {
	return NegateRunes(append(NegateRunes(a), NegateRunes(b)...))
}

// FoldRunes returns ranges and what differs from them in case only, by
// Unicode's simple folding.
func FoldRunes(ranges []RuneRange) []RuneRange {
	out := slices.Clone(ranges)
	in := NormalizeRunes(ranges)
	has := func(r rune) bool {
		_, ok := slices.BinarySearchFunc(in, r, func(x RuneRange, r rune) int {
			if x.Hi < r {
				return -1
			} else if x.Lo > r {
				return 1
			}
			return 0
		})
		return ok
	}
	// Folding is symmetric, so it is enough to look at code points with a case.
	cased := foldable()
	if len(in) == 1 && in[0].Lo == in[0].Hi {
		cased = []rune{in[0].Lo}
	}
	for _, r := range cased {
		if !has(r) {
			continue
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			out = append(out, RuneRange{f, f})
		}
	}
	return NormalizeRunes(out)
}

// foldCost is the work of FoldRunes, as [Set.Charge] counts it.
func foldCost(ranges []RuneRange) int {
	if len(ranges) == 1 && ranges[0].Lo == ranges[0].Hi {
		return 1
	}
	return 4 * len(foldable())
}

var foldable = sync.OnceValue(func() (out []rune) {
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi); r++ {
			if unicode.SimpleFold(r) != r {
				out = append(out, r)
			}
		}
	}
	return out
})

// TableRunes returns the code points of a table of package unicode.
func TableRunes(table *unicode.RangeTable) []RuneRange {
	var out []RuneRange
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, RuneRange{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			out = append(out, RuneRange{r, r})
		}
	}
	for _, r := range table.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return NormalizeRunes(out)
}

// maxRunes bounds the work for character classes, in blocks of code points looked at. It is
// about a second: some thousand classes as large as all letters.
const maxRunes = 20_000_000

// Charge counts work for character classes, a range as about 1. ok is false when it has become
// too much: then the set has failed.
func (s *Set) Charge(n int) (ok bool) {
	if s.runes += n; s.runes > maxRunes && s.err == nil {
		s.err = errClasses
	}
	return s.err == nil
}

// Runes returns the one-character strings of ranges, in UTF-8.
func (s *Set) Runes(ranges ...RuneRange) Term {
	if !s.Charge(2 * len(ranges)) {
		return Nothing
	}
	list := NormalizeRunes(ranges)
	var ascii ByteSet
	for _, r := range list {
		if r.Lo < utf8.RuneSelf {
			ascii = ascii.Or(ByteRange(byte(r.Lo), byte(min(r.Hi, utf8.RuneSelf-1))))
		}
	}
	parts := []Term{s.OneOf(ascii)}
	parts = append(parts, s.lead(list, 0xc2, 0xdf, 0x1f, 1, 0x80)...)
	parts = append(parts, s.lead(list, 0xe0, 0xef, 0x0f, 2, 0x800)...)
	parts = append(parts, s.lead(list, 0xf0, 0xf4, 0x07, 3, 0x10000)...)
	return s.Or(parts...)
}

// lead returns the characters whose first byte is in [lo, hi] and that have
// tail more bytes. The bits of the first byte under mask begin the code point;
// code points below least have a shorter form.
func (s *Set) lead(list []RuneRange, lo, hi, mask byte, tail int, least rune) []Term {
	byTail := map[Term]ByteSet{}
	for b := int(lo); b <= int(hi); b++ {
		base := rune(byte(b)&mask) << (6 * tail)
		if t := s.tail(list, base, tail, least); t != Nothing {
			byTail[t] = byTail[t].With(byte(b))
		}
	}
	return s.chains(byTail)
}

// tail returns the last n bytes of those characters of list that lie in
// [base, base + 64^n).
func (s *Set) tail(list []RuneRange, base rune, n int, least rune) Term {
	if !s.Charge(1) {
		return Nothing
	}
	end := base + 1<<(6*n) - 1
	i, _ := slices.BinarySearchFunc(list, max(base, least), func(x RuneRange, r rune) int { return int(x.Hi - r) })
	switch {
	case i == len(list) || list[i].Lo > end || end < least:
		return Nothing
	case n == 0:
		return Empty
	case list[i].Lo <= base && list[i].Hi >= end && base >= least:
		return s.allTails(n)
	}
	byTail := map[Term]ByteSet{}
	for c := range rune(64) {
		if t := s.tail(list, base+c<<(6*(n-1)), n-1, least); t != Nothing {
			byTail[t] = byTail[t].With(byte(0x80 + c))
		}
	}
	return s.Or(s.chains(byTail)...)
}

// allTails returns all last n bytes of characters.
func (s *Set) allTails(n int) Term {
	if s.tails[n] == Nothing {
		s.tails[n] = Empty
		for range n {
			s.tails[n] = s.concat(s.OneOf(ByteRange(0x80, 0xbf)), s.tails[n])
		}
	}
	return s.tails[n]
}

func (s *Set) chains(byTail map[Term]ByteSet) []Term {
	tails := make([]Term, 0, len(byTail))
	for t := range byTail {
		tails = append(tails, t)
	}
	slices.Sort(tails)
	for i, t := range tails {
		tails[i] = s.concat(s.OneOf(byTail[t]), t)
	}
	return tails
}
