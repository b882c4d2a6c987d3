package regex

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	digitRunes = []RuneRange{{'0', '9'}}
	wordRunes  = []RuneRange{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	// ECMA 262: white space and line terminators.
	spaceRunes = []RuneRange{{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a},
		{0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}}
)

// escape reads what follows a backslash outside a class.
func (p *parser) escape(at int) (expr, error) {
	if !p.more() {
		return nil, p.fail(at, "the pattern ends in a backslash", `write \\ for the character`)
	}
	switch c := p.text[p.pos]; {
	case c == 'b' || c == 'B':
		return nil, p.fail(at, `word boundaries (\b, \B) are not supported`, "name the characters that may stand beside the word")
	case c == 'A':
		p.pos++
		return atStart{}, nil
	case c == 'z' || c == 'Z':
		p.pos++
		return atEnd{}, nil
	case '1' <= c && c <= '9' || c == 'k':
		return nil, p.fail(at, "back references are not supported", "")
	}
	ranges, err := p.escaped(at)
	if err != nil {
		return nil, err
	}
	return plain{p.runes(ranges, false)}, nil
}

// escaped reads an escape that stands for code points.
func (p *parser) escaped(at int) ([]RuneRange, error) {
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += n
	one := func(r rune) ([]RuneRange, error) { return []RuneRange{{r, r}}, nil }
	switch r {
	case 'd':
		return digitRunes, nil
	case 'D':
		return NegateRunes(digitRunes), nil
	case 'w':
		return wordRunes, nil
	case 'W':
		return NegateRunes(wordRunes), nil
	case 's':
		return spaceRunes, nil
	case 'S':
		return NegateRunes(spaceRunes), nil
	case 'n':
		return one('\n')
	case 'r':
		return one('\r')
	case 't':
		return one('\t')
	case 'f':
		return one('\f')
	case 'v':
		return one('\v')
	case 'a':
		return one('\a')
	case 'e':
		return one(0x1b)
	case '0':
		if p.more() && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
			return nil, p.fail(at, "octal escapes are not supported", `write \xHH`)
		}
		return one(0)
	case 'c':
		if p.more() {
			if c := p.text[p.pos] | 0x20; 'a' <= c && c <= 'z' {
				p.pos++
				return one(rune(c & 31))
			}
		}
		return nil, p.fail(at, `\c needs a letter`, "")
	case 'x':
		return p.codePoint(at, 2)
	case 'u':
		return p.codePoint(at, 4)
	case 'U':
		return p.codePoint(at, 8)
	case 'p', 'P':
		return p.property(at, r == 'P')
	}
	if r == utf8.RuneError && n <= 1 {
		return nil, p.fail(at, "the pattern is not valid UTF-8", "")
	}
	if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return nil, p.fail(at, "unknown escape \\"+string(r), "")
	}
	return one(r)
}

// codePoint reads digits hexadecimal digits, or any number of them in braces.
// A pair of \u surrogates is one code point.
func (p *parser) codePoint(at, digits int) ([]RuneRange, error) {
	var text string
	if p.accept("{") {
		end := strings.IndexByte(p.text[p.pos:], '}')
		if end < 0 || end > 16 {
			return nil, p.fail(at, "the escape is not closed by }", "")
		}
		text = p.text[p.pos : p.pos+end]
		p.pos += end + 1
	} else if len(p.text)-p.pos >= digits {
		text = p.text[p.pos : p.pos+digits]
		p.pos += digits
	}
	v, err := strconv.ParseUint(text, 16, 32)
	if err != nil || v > unicode.MaxRune {
		return nil, p.fail(at, "not a code point in hexadecimal", "")
	}
	r := rune(v)
	if 0xd800 <= r && r < 0xdc00 && digits == 4 && strings.HasPrefix(p.text[p.pos:], `\u`) && len(p.text)-p.pos >= 6 {
		if low, err := strconv.ParseUint(p.text[p.pos+2:p.pos+6], 16, 32); err == nil && 0xdc00 <= low && low < 0xe000 {
			p.pos += 6
			r = ((rune(v)-0xd800)<<10 | (rune(low) - 0xdc00)) + 0x10000
		}
	}
	return []RuneRange{{r, r}}, nil
}

// property reads the name of a Unicode property: a general category, a script,
// or one of the binary properties that package unicode knows.
func (p *parser) property(at int, negate bool) ([]RuneRange, error) {
	var name string
	if p.accept("{") {
		end := strings.IndexByte(p.text[p.pos:], '}')
		if end < 0 {
			return nil, p.fail(at, "the property is not closed by }", "")
		}
		name = p.text[p.pos : p.pos+end]
		p.pos += end + 1
	} else if p.more() {
		name = p.text[p.pos : p.pos+1]
		p.pos++
	}
	if strings.HasPrefix(name, "^") {
		name, negate = name[1:], !negate
	}
	ranges, ok := p.properties[name]
	if !ok {
		if ranges, ok = propertyRunes(name); ok {
			if p.properties == nil {
				p.properties = map[string][]RuneRange{}
			}
			p.properties[name] = ranges
		}
	}
	if !ok {
		return nil, p.fail(at, "unknown Unicode property "+strconv.Quote(name), "use a general category such as L or Nd, or a script such as Greek")
	}
	if negate {
		ranges = NegateRunes(ranges)
	}
	return ranges, nil
}

var longCategories = map[string]string{
	"Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
	"Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc",
	"Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
	"Punctuation": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps",
	"Close_Punctuation": "Pe", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po",
	"Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So",
	"Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
	"Other": "C", "Control": "Cc", "Format": "Cf", "Private_Use": "Co", "digit": "Nd", "punct": "P", "cntrl": "Cc",
}

func propertyRunes(name string) ([]RuneRange, bool) {
	if i := strings.IndexByte(name, '='); i >= 0 {
		key, value := name[:i], name[i+1:]
		switch key {
		case "gc", "General_Category":
			name = value
		case "sc", "Script", "scx", "Script_Extensions":
			table, ok := unicode.Scripts[value]
			if !ok {
				return nil, false
			}
			return TableRunes(table), true
		default:
			return nil, false
		}
	}
	if short, ok := longCategories[name]; ok {
		name = short
	}
	switch name {
	case "Any":
		return AllRunes, true
	case "ASCII":
		return []RuneRange{{0, 127}}, true
	case "Alphabetic", "Alpha":
		return append(TableRunes(unicode.L), append(TableRunes(unicode.Nl), TableRunes(unicode.Other_Alphabetic)...)...), true
	case "Uppercase":
		return append(TableRunes(unicode.Lu), TableRunes(unicode.Other_Uppercase)...), true
	case "Lowercase":
		return append(TableRunes(unicode.Ll), TableRunes(unicode.Other_Lowercase)...), true
	case "LC":
		return append(TableRunes(unicode.Lu), append(TableRunes(unicode.Ll), TableRunes(unicode.Lt)...)...), true
	}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts, unicode.Properties} {
		if table, ok := tables[name]; ok {
			return TableRunes(table), true
		}
	}
	return nil, false
}
