package ecma

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// class reads a character class behind its opening bracket.
func (p *parser) class() []regex.RuneRange {
	negated := p.accept("^")
	var all []regex.RuneRange
	for {
		if !p.more() {
			p.fail("a character class is not closed")
		}
		if p.accept("]") {
			break
		}
		lo := p.note(p.classAtom())
		if p.peek() == '-' && p.at+1 < len(p.text) && p.text[p.at+1] != ']' {
			back := p.at
			p.at++
			hi := p.classAtom()
			switch {
			case !one(lo) || !one(hi):
				// A class cannot end a range, so the hyphen stands for itself.
				all = append(all, lo...)
				all = append(all, single('-')...)
				all = append(all, hi...)
				continue
			case lo[0].Lo > hi[0].Lo:
				p.at = back
				p.fail("a range of characters is out of order")
			}
			lo = []regex.RuneRange{{Lo: lo[0].Lo, Hi: hi[0].Lo}}
		}
		all = append(all, lo...)
	}
	if negated {
		return regex.NegateRunes(all)
	}
	return regex.NormalizeRunes(all)
}

func one(r []regex.RuneRange) bool { return len(r) == 1 && r[0].Lo == r[0].Hi }

func (p *parser) classAtom() []regex.RuneRange {
	if p.accept(`\`) {
		return p.escape(true)
	}
	return single(p.rune())
}

// escape reads what follows a backslash.
func (p *parser) escape(inClass bool) []regex.RuneRange {
	if !p.more() {
		p.fail("the pattern ends with a backslash")
	}
	c := p.rune()
	switch c {
	case 'd':
		return Digit
	case 'D':
		return regex.NegateRunes(Digit)
	case 'w':
		return Word
	case 'W':
		return regex.NegateRunes(Word)
	case 's':
		return Space
	case 'S':
		return regex.NegateRunes(Space)
	case 't':
		return single('\t')
	case 'n':
		return single('\n')
	case 'v':
		return single('\v')
	case 'f':
		return single('\f')
	case 'r':
		return single('\r')
	case 'b':
		if inClass {
			return single('\b')
		}
	case '0':
		if next := p.peek(); next < '0' || next > '9' {
			return single(0)
		}
	case 'c':
		if l := p.peek() | 0x20; l >= 'a' && l <= 'z' {
			p.at++
			return single(rune(l) & 0x1f)
		}
	case 'x':
		if r, ok := p.hex(2); ok {
			return single(r)
		}
	case 'u':
		return single(p.codePoint())
	case 'p', 'P':
		return p.property(c == 'P')
	case 'k':
		p.fail("references back to a group are not supported")
	}
	switch {
	case c >= '1' && c <= '9' && !inClass:
		p.fail("references back to a group are not supported")
	case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		p.fail("the escape \\%c has no meaning here", c)
	}
	return single(c)
}

func (p *parser) hex(n int) (rune, bool) {
	if p.at+n > len(p.text) {
		return 0, false
	}
	v, err := strconv.ParseUint(p.text[p.at:p.at+n], 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += n
	return rune(v), true
}

// codePoint reads what follows \u.
func (p *parser) codePoint() rune {
	if p.accept("{") {
		end := strings.IndexByte(p.text[p.at:], '}')
		if end > 0 && end <= 8 {
			if r, ok := p.hex(end); ok && r <= unicode.MaxRune {
				p.at++
				return r
			}
		}
		p.fail("\\u{…} must hold the number of a character in hexadecimal")
	}
	hi, ok := p.hex(4)
	if !ok {
		p.fail("four hexadecimal digits must follow \\u")
	}
	if utf16.IsSurrogate(hi) {
		if back := p.at; p.accept(`\u`) {
			if lo, ok := p.hex(4); ok {
				if r := utf16.DecodeRune(hi, lo); r != unicode.ReplacementChar {
					return r
				}
			}
			p.at = back
		}
		// Half a pair: no text has it, but a range may end there.
	}
	return hi
}

// categories maps long names of general categories to those of package unicode.
var categories = map[string]string{
	"Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm",
	"Other_Letter": "Lo", "Mark": "M", "Combining_Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me",
	"Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
	"Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe",
	"Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc",
	"Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
	"Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Private_Use": "Co",
}

// property reads what follows \p or \P.
func (p *parser) property(negated bool) []regex.RuneRange {
	end := strings.IndexByte(p.text[p.at:], '}')
	if p.peek() != '{' || end < 2 {
		p.fail("\\p needs the name of a property in braces")
	}
	name := p.text[p.at+1 : p.at+end]
	key, is, isPair := strings.Cut(name, "=")
	table := (*unicode.RangeTable)(nil)
	var ranges []regex.RuneRange
	switch {
	case isPair && (key == "Script" || key == "sc" || key == "Script_Extensions" || key == "scx"):
		table = unicode.Scripts[is]
	case isPair && key != "General_Category" && key != "gc":
	default:
		if isPair {
			name = is
		}
		if long, ok := categories[name]; ok {
			name = long
		}
		switch table = unicode.Categories[name]; {
		case isPair || table != nil:
		case name == "Any":
			ranges = regex.AllRunes
		case name == "ASCII":
			ranges = []regex.RuneRange{{Lo: 0, Hi: 0x7f}}
		case name == "Alphabetic":
			ranges = append(append(regex.TableRunes(unicode.L), regex.TableRunes(unicode.Nl)...), regex.TableRunes(unicode.Other_Alphabetic)...)
		default:
			table = unicode.Properties[name]
		}
	}
	if table != nil {
		ranges = regex.TableRunes(table)
	}
	if ranges == nil {
		p.fail("the property %q is not known", p.text[p.at+1:p.at+end])
	}
	p.at += end + 1
	if negated {
		return regex.NegateRunes(ranges)
	}
	return ranges
}
