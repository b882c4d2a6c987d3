package gbnf

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// quoted reads a string in quotes of either kind.
func (p *parser) quoted() (string, error) {
	at := p.pos
	quote := p.text[p.pos]
	p.pos++
	var out strings.Builder
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case c == quote:
			p.pos++
			return out.String(), nil
		case c == '\n':
			return "", p.fail(at, "the string is not closed")
		}
		r, isByte, err := p.char()
		if err != nil {
			return "", err
		}
		if isByte {
			out.WriteByte(byte(r))
		} else {
			out.WriteRune(r)
		}
	}
	return "", p.fail(at, "the string is not closed")
}

// char reads one character or escape. isByte: it is part of invalid UTF-8.
func (p *parser) char() (r rune, isByte bool, err error) {
	at := p.pos
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += n
	if r == utf8.RuneError && n <= 1 {
		return 0, false, p.fail(at, "the grammar is not valid UTF-8")
	}
	if r != '\\' {
		return r, false, nil
	}
	if p.pos >= len(p.text) {
		return 0, false, p.fail(at, "the grammar ends in a backslash")
	}
	c := p.text[p.pos]
	p.pos++
	switch c {
	case 'n':
		return '\n', false, nil
	case 'r':
		return '\r', false, nil
	case 't':
		return '\t', false, nil
	case 'f':
		return '\f', false, nil
	case 'v':
		return '\v', false, nil
	case 'b':
		return '\b', false, nil
	case 'a':
		return '\a', false, nil
	case '0':
		return 0, false, nil
	case 'x':
		return p.hex(at, 2)
	case 'u':
		return p.hex(at, 4)
	case 'U':
		return p.hex(at, 8)
	}
	if strings.IndexByte(`"'\/[]-^?$.|(){}+*`, c) >= 0 {
		return rune(c), false, nil
	}
	return 0, false, p.fail(at, "unknown escape \\%c", c)
}

func (p *parser) hex(at, digits int) (rune, bool, error) {
	var text string
	if p.accept("{") {
		n := strings.IndexByte(p.text[p.pos:], '}')
		if n < 0 || n > 8 {
			return 0, false, p.fail(at, "the escape is not closed by }")
		}
		text = p.text[p.pos : p.pos+n]
		p.pos += n + 1
	} else if len(p.text)-p.pos >= digits {
		text = p.text[p.pos : p.pos+digits]
		p.pos += digits
	}
	v, err := strconv.ParseUint(text, 16, 32)
	if err != nil || v > unicode.MaxRune || 0xd800 <= v && v < 0xe000 {
		return 0, false, p.fail(at, "not a code point in hexadecimal")
	}
	return rune(v), false, nil
}

// class reads a class of characters in brackets.
func (p *parser) class() (rules.Expr, error) {
	at := p.pos
	p.pos++
	negate := p.accept("^")
	var ranges []regex.RuneRange
	for {
		if p.pos >= len(p.text) || p.text[p.pos] == '\n' {
			return nil, p.fail(at, "the class is not closed")
		}
		if p.accept("]") {
			break
		}
		item := p.pos
		lo, _, err := p.char()
		if err != nil {
			return nil, err
		}
		hi := lo
		if p.pos+1 < len(p.text) && p.text[p.pos] == '-' && p.text[p.pos+1] != ']' {
			p.pos++
			if hi, _, err = p.char(); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, p.fail(item, "the ends of the range are out of order")
		}
		ranges = append(ranges, regex.RuneRange{Lo: lo, Hi: hi})
	}
	if negate {
		ranges = regex.NegateRunes(ranges)
	}
	return rules.Text{Term: p.b.Set.Runes(ranges...)}, nil
}

// token reads a special token, <[id]> or <name>.
func (p *parser) token() (rules.Expr, error) {
	at := p.pos
	end := strings.IndexByte(p.text[at:], '>')
	if end < 0 {
		return nil, p.fail(at, "the token is not closed by >")
	}
	name := p.text[at : at+end+1]
	p.pos += end + 1
	if inner, ok := strings.CutPrefix(name, "<["); ok {
		if inner, ok = strings.CutSuffix(inner, "]>"); ok {
			id, err := strconv.ParseInt(inner, 10, 32)
			if err != nil || id < 0 {
				return nil, p.fail(at, "not the id of a token")
			}
			if p.o.Special == nil || !p.o.Special(int32(id)) {
				return nil, &cfg.Error{At: cfg.Position(p.text, at), Reason: "the model has no special token " + name, Remedy: "write text in quotes"}
			}
			return rules.Symbol{Symbol: p.b.Token(int32(id))}, nil
		}
	}
	if p.o.Token != nil {
		if id, ok := p.o.Token(name); ok {
			return rules.Symbol{Symbol: p.b.Token(id)}, nil
		}
	}
	return nil, &cfg.Error{At: cfg.Position(p.text, at), Reason: "the model has no special token " + name, Remedy: "write text in quotes"}
}
