package lark

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// quoted reads a string in double quotes, with flag i.
func (p *parser) quoted() (string, rules.Expr, error) {
	at := p.pos
	if !p.accept(`"`) {
		return "", nil, p.fail(at, "expected a string in double quotes")
	}
	var out strings.Builder
	for {
		if p.pos >= len(p.text) || p.text[p.pos] == '\n' {
			return "", nil, p.fail(at, "the string is not closed")
		}
		c := p.text[p.pos]
		p.pos++
		if c == '"' {
			break
		}
		if c != '\\' {
			out.WriteByte(c)
			continue
		}
		r, err := p.escape(at)
		if err != nil {
			return "", nil, err
		}
		out.WriteRune(r)
	}
	text := out.String()
	if !utf8.ValidString(text) {
		return "", nil, p.fail(at, "the string is not valid UTF-8")
	}
	t := p.b.Set.Literal(text)
	if p.pos < len(p.text) && p.text[p.pos] == 'i' && (p.pos+1 == len(p.text) || !isName(p.text[p.pos+1])) {
		p.pos++
		t = regex.Empty
		for _, r := range text {
			t = p.b.Set.Concat(t, p.b.Set.Runes(regex.FoldRunes([]regex.RuneRange{{Lo: r, Hi: r}})...))
		}
	}
	return text, rules.Text{Term: t}, nil
}

func (p *parser) escape(at int) (rune, error) {
	if p.pos >= len(p.text) {
		return 0, p.fail(at, "the string is not closed")
	}
	c := p.text[p.pos]
	p.pos++
	digits := 0
	switch c {
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'f':
		return '\f', nil
	case 'b':
		return '\b', nil
	case '"', '\\', '/', '\'':
		return rune(c), nil
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	}
	if digits == 0 || len(p.text)-p.pos < digits {
		return 0, p.fail(p.pos-2, "unknown escape \\%c", c)
	}
	v, err := strconv.ParseUint(p.text[p.pos:p.pos+digits], 16, 32)
	if err != nil || v > unicode.MaxRune || 0xd800 <= v && v < 0xe000 {
		return 0, p.fail(p.pos-2, "not a code point in hexadecimal")
	}
	p.pos += digits
	return rune(v), nil
}

// charRange reads "a".."z", after its first end at at.
func (p *parser) charRange(at int) (rules.Expr, error) {
	end := p.pos
	p.pos = at
	lo, _, _ := p.quoted()
	p.pos = end + 2
	hi, _, err := p.quoted()
	if err != nil {
		return nil, err
	}
	a, n := utf8.DecodeRuneInString(lo)
	b, m := utf8.DecodeRuneInString(hi)
	if n != len(lo) || m != len(hi) || n == 0 || m == 0 || b < a {
		return nil, p.fail(at, "the ends of a range must be single characters, in order")
	}
	return rules.Text{Term: p.b.Set.Runes(regex.RuneRange{Lo: a, Hi: b})}, nil
}

// slashes finds the end of /…/ and its flags.
func (p *parser) slashes() (pattern, flags string, err error) {
	at := p.pos
	class := false
	for p.pos++; p.pos < len(p.text) && p.text[p.pos] != '\n'; p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '\\':
			p.pos++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			pattern = p.text[at+1 : p.pos]
			p.pos++
			start := p.pos
			for p.pos < len(p.text) && 'a' <= p.text[p.pos] && p.text[p.pos] <= 'z' {
				p.pos++
			}
			return pattern, p.text[start:p.pos], nil
		}
	}
	return "", "", p.fail(at, "the regular expression is not closed by /")
}

func (p *parser) slashed() (rules.Expr, error) {
	at := p.pos
	pattern, flags, err := p.slashes()
	if err != nil {
		return nil, err
	}
	var o regex.Options
	for _, c := range flags {
		switch c {
		case 'i':
			o.IgnoreCase = true
		case 's':
			o.DotNewline = true
		case 'u':
		default:
			return nil, p.fail(at, "the flag %c is not supported", c)
		}
	}
	t, err := p.b.Set.Parse(pattern, o)
	if err != nil {
		return nil, p.fail(at+1, "%v", err)
	}
	return rules.Text{Term: t}, nil
}
