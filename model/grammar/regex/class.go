package regex

import (
	"strings"
	"unicode/utf8"
)

// class reads what follows an opening bracket, up to the closing one.
func (p *parser) class(at int) (Term, error) {
	negate := p.accept("^")
	var ranges []RuneRange
	for first := true; ; first = false {
		if !p.more() {
			return Nothing, p.fail(at, "the class is not closed", `write \[ for the character`)
		}
		if p.text[p.pos] == ']' && !(first && p.emptyClassIsLiteral()) {
			p.pos++
			break
		}
		item := p.pos
		lo, single, err := p.classItem()
		if err == nil && !p.set.Charge(len(lo)) {
			err = p.set.err
		}
		if err != nil {
			return Nothing, err
		}
		if !single || !p.more() || p.text[p.pos] != '-' || strings.HasPrefix(p.text[p.pos:], "-]") {
			ranges = append(ranges, lo...)
			continue
		}
		p.pos++ // the hyphen
		hi, single, err := p.classItem()
		switch {
		case err != nil:
			return Nothing, err
		case !single:
			ranges = append(append(append(ranges, lo...), RuneRange{'-', '-'}), hi...)
		case hi[0].Lo < lo[0].Lo:
			return Nothing, p.fail(item, "the ends of the range are out of order", "")
		default:
			ranges = append(ranges, RuneRange{lo[0].Lo, hi[0].Lo})
		}
	}
	return p.runes(ranges, negate), nil
}

// runes returns the characters of ranges, with the other case if the flags say
// so, or those that are not among them. Patterns repeat their classes, and large
// ones take a millisecond, so they are kept.
func (p *parser) runes(ranges []RuneRange, negate bool) Term {
	if !p.set.Charge(2*len(ranges) + 1) {
		return Nothing
	}
	key := make([]byte, 0, 8*len(ranges)+1)
	for _, r := range ranges {
		key = append(key, byte(r.Lo), byte(r.Lo>>8), byte(r.Lo>>16), byte(r.Hi), byte(r.Hi>>8), byte(r.Hi>>16))
	}
	flags := byte(0)
	if negate {
		flags |= 1
	}
	if p.flags.fold {
		flags |= 2
	}
	key = append(key, flags)
	if t, ok := p.classes[string(key)]; ok {
		return t
	}
	if p.flags.fold {
		p.set.Charge(foldCost(ranges))
		ranges = FoldRunes(ranges)
	}
	if negate {
		ranges = NegateRunes(ranges)
	}
	t := p.set.Runes(ranges...)
	if p.classes == nil {
		p.classes = map[string]Term{}
	}
	p.classes[string(key)] = t
	return t
}

// emptyClassIsLiteral: in ECMA 262 [] is the empty class, elsewhere a bracket
// right after the opening one is a character. It is the class that ends first
// unless another closing bracket follows.
func (p *parser) emptyClassIsLiteral() bool {
	return !p.ecma && strings.IndexByte(p.text[p.pos+1:], ']') >= 0
}

// classItem reads one member. single: it is one code point, which a range may
// begin or end with.
func (p *parser) classItem() (ranges []RuneRange, single bool, err error) {
	at := p.pos
	if !p.more() {
		return nil, false, p.fail(at, "the class is not closed", "")
	}
	if strings.HasPrefix(p.text[p.pos:], "[:") {
		if end := strings.Index(p.text[p.pos:], ":]"); end > 1 {
			if r, ok := posix(p.text[p.pos+2 : p.pos+end]); ok {
				p.pos += end + 2
				return r, false, nil
			}
		}
	}
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	if r == utf8.RuneError && n <= 1 {
		return nil, false, p.fail(at, "the pattern is not valid UTF-8", "")
	}
	p.pos += n
	if r != '\\' {
		return []RuneRange{{r, r}}, true, nil
	}
	if !p.more() {
		return nil, false, p.fail(at, "the pattern ends in a backslash", "")
	}
	if p.accept("b") {
		return []RuneRange{{'\b', '\b'}}, true, nil
	}
	if p.accept("-") {
		return []RuneRange{{'-', '-'}}, true, nil
	}
	c := p.text[p.pos]
	ranges, err = p.escaped(at)
	return ranges, !strings.ContainsRune("dDwWsSpP", rune(c)), err
}

// posix returns the ASCII class of a name such as alpha or ^digit.
func posix(name string) ([]RuneRange, bool) {
	if strings.HasPrefix(name, "^") {
		r, ok := posix(name[1:])
		return NegateRunes(r), ok
	}
	switch name {
	case "alpha":
		return []RuneRange{{'A', 'Z'}, {'a', 'z'}}, true
	case "digit":
		return digitRunes, true
	case "alnum":
		return []RuneRange{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, true
	case "upper":
		return []RuneRange{{'A', 'Z'}}, true
	case "lower":
		return []RuneRange{{'a', 'z'}}, true
	case "space":
		return []RuneRange{{'\t', '\r'}, {' ', ' '}}, true
	case "punct":
		return []RuneRange{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, true
	case "xdigit":
		return []RuneRange{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, true
	case "word":
		return wordRunes, true
	case "cntrl":
		return []RuneRange{{0, 31}, {127, 127}}, true
	case "print":
		return []RuneRange{{' ', '~'}}, true
	case "graph":
		return []RuneRange{{'!', '~'}}, true
	case "blank":
		return []RuneRange{{' ', ' '}, {'\t', '\t'}}, true
	case "ascii":
		return []RuneRange{{0, 127}}, true
	}
	return nil, false
}
