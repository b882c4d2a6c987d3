package jsonschema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// speller writes texts as JSON strings do, between the quotes.
//
// A free text may be spelled in every way that JSON allows. A text under a
// constraint may be spelled in every way that writers of JSON are known to
// use: characters that all of them leave alone (plain) stand for themselves, any other
// may be raw where JSON allows that, \uXXXX, or a short escape. Every term here
// has all these spellings of a text or none, so intersection and complement
// of terms are those of the texts.
type speller struct {
	set      *regex.Set
	style    style
	classes  map[string]regex.Term
	any      regex.Term // one character under a constraint
	universe regex.Term // every text under a constraint
	freeChar regex.Term
	free     regex.Term // every text
}

// style is how a speller writes texts.
type style uint8

const (
	asJSON   style = iota
	asPython       // as JSON, but only so that Python reads the same
	asIs           // as they are; then all that is said of spellings holds of the only one
)

func newSpeller(set *regex.Set, as style) *speller {
	s := &speller{set: set, style: as, classes: map[string]regex.Term{}}
	s.any = s.class(regex.AllRunes)
	s.universe = set.Repeat(s.any, 0, regex.Unbounded)
	if as == asIs {
		s.freeChar, s.free = s.any, s.universe
		return s
	}
	s.freeChar = set.Or(s.any, s.escaped(regex.AllRunes))
	s.free = set.Repeat(s.freeChar, 0, regex.Unbounded)
	return s
}

// plain is the characters that no writer of JSON escapes.
var plain = regex.IntersectRunes([]regex.RuneRange{{Lo: ' ', Hi: '~'}}, regex.NegateRunes(runes("\"\\/<>&'+`")))

// raw is the characters that may stand for themselves in a JSON string.
var raw = regex.NegateRunes([]regex.RuneRange{{Lo: 0, Hi: 0x1f}, {Lo: '"', Hi: '"'}, {Lo: '\\', Hi: '\\'}})

// short maps a character to the letter of its escape.
var short = map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func runes(of string) []regex.RuneRange {
	var list []regex.RuneRange
	for _, r := range of {
		list = append(list, regex.RuneRange{Lo: r, Hi: r})
	}
	return list
}

func within(list []regex.RuneRange, r rune) bool {
	for _, x := range list {
		if r >= x.Lo && r <= x.Hi {
			return true
		}
	}
	return false
}

// class returns the spellings of the characters of ranges.
func (s *speller) class(ranges []regex.RuneRange) regex.Term {
	if !s.set.Charge(5 * len(ranges)) {
		return regex.Nothing
	}
	key := fmt.Sprint(ranges)
	if t, ok := s.classes[key]; ok {
		return t
	}
	ranges = regex.NormalizeRunes(ranges)
	if s.style == asIs {
		t := s.utf8(ranges)
		s.classes[key] = t
		return t
	}
	parts := []regex.Term{
		s.utf8(regex.IntersectRunes(ranges, raw)),
		s.escaped(regex.IntersectRunes(ranges, regex.NegateRunes(plain))),
	}
	for r, text := range short {
		if within(ranges, r) && (r != '/' || s.style == asJSON) {
			parts = append(parts, s.set.Literal(text))
		}
	}
	t := s.set.Or(parts...)
	s.classes[key] = t
	return t
}

// utf8 returns the characters of ranges as they are, one length at a time.
func (s *speller) utf8(ranges []regex.RuneRange) regex.Term {
	t := regex.Nothing
	for _, length := range []regex.RuneRange{{Lo: 0, Hi: 0x7f}, {Lo: 0x80, Hi: 0x7ff}, {Lo: 0x800, Hi: 0xffff}, {Lo: 0x10000, Hi: 0x10ffff}} {
		t = s.set.Or(t, s.set.Runes(regex.IntersectRunes(ranges, []regex.RuneRange{length})...))
	}
	return t
}

// literal returns the spellings of text.
func (s *speller) literal(text string) regex.Term {
	if s.style == asIs {
		return s.set.Literal(text)
	}
	var parts []regex.Term
	start := 0
	for i, r := range text {
		if !within(plain, r) {
			parts = append(parts, s.set.Literal(text[start:i]), s.class([]regex.RuneRange{{Lo: r, Hi: r}}))
			start = i + len(string(r))
		}
	}
	return s.set.Concat(append(parts, s.set.Literal(text[start:]))...)
}

// spelling returns one spelling of text, which is in a term if and only if all are.
func (s *speller) spelling(text string) string {
	if s.style == asIs {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case short[r] != "" && r != '/':
			b.WriteString(short[r])
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// text returns the text of a spelling.
func (s *speller) text(spelling string) (text string, err error) {
	if s.style == asIs {
		return spelling, nil
	}
	err = json.Unmarshal([]byte(`"`+spelling+`"`), &text)
	return text, err
}

// has reports whether text is one of t's.
func (s *speller) has(t regex.Term, text string) bool { return s.set.Matches(t, s.spelling(text)) }

// not returns the texts that are not in t.
func (s *speller) not(t regex.Term) regex.Term {
	switch t {
	case s.free:
		return regex.Nothing
	case regex.Nothing:
		return s.free
	}
	return s.set.And(s.universe, s.set.Not(t))
}

// and returns the texts that are in both.
func (s *speller) and(a, b regex.Term) regex.Term {
	switch {
	case a == s.free:
		return b
	case b == s.free:
		return a
	}
	return s.set.And(a, b)
}

// or returns the texts that are in one of them.
func (s *speller) or(a, b regex.Term) regex.Term {
	if a == s.free || b == s.free {
		return s.free
	}
	return s.set.Or(a, b)
}

// escaped returns the characters of ranges as \uXXXX, pairs of surrogates
// above the first plane. Ranges is normalised.
func (s *speller) escaped(ranges []regex.RuneRange) regex.Term {
	start := s.set.Literal(`\u`)
	parts := []regex.Term{s.set.Concat(start, s.hex(ranges, 0, 4))}
	byLow := map[regex.Term][]regex.RuneRange{}
	var order []regex.Term
	for _, r := range ranges {
		for lo := max(r.Lo, 0x10000); lo <= r.Hi; {
			block := (lo - 0x10000) >> 10
			end := 0x10000 + block<<10 + 0x3ff
			hi := min(r.Hi, end)
			blocks := rune(1)
			if lo&0x3ff == 0 && hi == end {
				blocks = (r.Hi - lo + 1) >> 10
				hi = lo + blocks<<10 - 1
			}
			first := 0xdc00 + (lo-0x10000)&0x3ff
			last := 0xdc00 + (hi-0x10000)&0x3ff
			low := s.set.Concat(start, s.hex([]regex.RuneRange{{Lo: first, Hi: last}}, 0, 4))
			if byLow[low] == nil {
				order = append(order, low)
			}
			byLow[low] = append(byLow[low], regex.RuneRange{Lo: 0xd800 + block, Hi: 0xd800 + block + blocks - 1})
			lo = hi + 1
		}
	}
	for _, low := range order {
		parts = append(parts, s.set.Concat(start, s.hex(byLow[low], 0, 4), low))
	}
	return s.set.Or(parts...)
}

// hex returns the last n hexadecimal digits, of either case, of the numbers of
// list in [base, base + 16^n). The list is sorted.
func (s *speller) hex(list []regex.RuneRange, base rune, n int) regex.Term {
	end := base + 1<<(4*n) - 1
	for len(list) > 0 && list[0].Hi < base {
		list = list[1:]
	}
	switch {
	case len(list) == 0 || list[0].Lo > end:
		return regex.Nothing
	case n == 0:
		return regex.Empty
	case list[0].Lo <= base && list[0].Hi >= end:
		return s.set.Repeat(s.set.OneOf(regex.SetOf("0123456789abcdefABCDEF")), n, n)
	}
	byTail := map[regex.Term]regex.ByteSet{}
	var order []regex.Term
	for d := range rune(16) {
		t := s.hex(list, base+d<<(4*(n-1)), n-1)
		if t == regex.Nothing {
			continue
		}
		if _, ok := byTail[t]; !ok {
			order = append(order, t)
		}
		const digits = "0123456789abcdef"
		byTail[t] = byTail[t].With(digits[d]).With(strings.ToUpper(digits)[d])
	}
	for i, t := range order {
		order[i] = s.set.Concat(s.set.OneOf(byTail[t]), t)
	}
	return s.set.Or(order...)
}
