package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// format is Python's str.format within the sandbox: fields by position or
// name, .attribute and [key] lookups, !s and !r, format specifications.
func (rt *runtime) format(s string, a *Args) (any, error) {
	var b strings.Builder
	lit := rt.literal(s)
	s = rt.bare(s)
	auto, manual := 0, false // fields numbered by their order, or by hand
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '{' && c != '}' {
			continue
		}
		b.WriteString(lit.upTo(i))
		if i+1 < len(s) && s[i+1] == c {
			i++
			lit.skipTo(i) // it is written with what follows
			continue
		}
		if c == '}' {
			return nil, newErr(ValueError, "Single '}' encountered in format string")
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return nil, newErr(ValueError, "expected '}' before end of string")
		}
		field := s[i+1 : i+end]
		i += end
		if strings.IndexByte(field, '{') >= 0 {
			return nil, newErr(ValueError, "nested format fields are not supported")
		}
		name, sp, _ := strings.Cut(field, ":")
		lit.skipTo(i - len(sp))
		fill := lit.upTo(i)
		lit.skipTo(i + 1)
		name, conv, _ := strings.Cut(name, "!")
		if name == "" || name[0] == '.' || name[0] == '[' {
			name = strconv.Itoa(auto) + name
			auto++
		} else if name[0] >= '0' && name[0] <= '9' {
			manual = true
		}
		if manual && auto > 0 {
			return nil, newErr(ValueError, "cannot mix automatic field numbering and manual field specification")
		}
		v, err := rt.formatValue(name, a)
		if err != nil {
			return nil, err
		}
		switch conv {
		case "":
		case "s":
			v, err = rt.str(v)
		case "r", "a":
			v, err = rt.repr(v)
		default:
			err = newErr(ValueError, "Unknown conversion specifier '%s'", conv)
		}
		if err != nil {
			return nil, err
		}
		text, err := rt.formatSpec(v, sp, fill)
		if err != nil {
			return nil, err
		}
		if err := rt.text(b.Len() + len(text)); err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	b.WriteString(lit.upTo(len(s)))
	return b.String(), nil
}

// formatValue finds "0", "name", "name.attr" or "0[key]".
func (rt *runtime) formatValue(name string, a *Args) (any, error) {
	head := name
	if i := strings.IndexAny(name, ".["); i >= 0 {
		head = name[:i]
	}
	rest := name[len(head):]
	var v any = absent
	if n, err := strconv.Atoi(head); err == nil {
		if n < 0 || n >= len(a.Pos) {
			return nil, newErr("IndexError", "Replacement index %s out of range for positional args tuple", head)
		}
		v = a.Pos[n]
	}
	if err := rt.work(len(a.Kw) / 8); err != nil {
		return nil, err
	}
	for _, k := range a.Kw {
		if k.Name == head {
			v = k.Value
		}
	}
	if v == any(absent) {
		return nil, newErr("KeyError", "'%s'", head)
	}
	for rest != "" {
		var key any
		if rest[0] == '[' {
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, newErr(ValueError, "Missing ']' in format string")
			}
			key, rest = rest[1:end], rest[end+1:]
			if n, err := strconv.ParseInt(key.(string), 10, 64); err == nil {
				key = n
			}
		} else {
			part := rest[1:]
			if i := strings.IndexAny(part, ".["); i >= 0 {
				part = part[:i]
			}
			key, rest = part, rest[1+len(part):]
		}
		var err error
		if v, err = rt.item(v, key); err != nil {
			return nil, err
		}
		if len(rest) > 0 && rest[0] != '.' && rest[0] != '[' {
			return nil, newErr(ValueError, "Only '.' or '[' may follow ']' in format field specifier")
		}
	}
	return v, nil
}

// formatSpec applies "[[fill]align][sign][#][0][width][,][.prec][type]".
// written is the text as it is in the format, for the character to fill with,
// which is whose the format is.
func (rt *runtime) formatSpec(v any, text, written string) (string, error) {
	if text == "" {
		return rt.str(v)
	}
	sp := spec{fill: " ", prec: -1}
	if _, n := utf8.DecodeRuneInString(text); len(text) > n && strings.IndexByte("<>^=", text[n]) >= 0 {
		sp.align, text = text[n], text[n+1:]
		_, n = utf8.DecodeRuneInString(written)
		sp.fill = written[:n]
	} else if strings.IndexByte("<>^=", text[0]) >= 0 {
		sp.align, text = text[0], text[1:]
	}
	i := 0
	accept := func(set string) byte {
		if i < len(text) && strings.IndexByte(set, text[i]) >= 0 {
			i++
			return text[i-1]
		}
		return 0
	}
	sp.sign = accept("+- ")
	sp.alt = accept("#") != 0
	sp.zero = accept("0") != 0
	sp.width, i = scanInt(text, i, 0)
	if c := accept(",_"); c != 0 {
		sp.comma = string(c)
	}
	if accept(".") != 0 {
		if sp.prec, i = scanInt(text, i, -1); sp.prec < 0 {
			return "", newErr(ValueError, "Format specifier missing precision")
		}
	}
	sp.verb = accept("sdbxXoeEfFgG%n")
	if i != len(text) {
		return "", newErr(ValueError, "Invalid format specifier '%s'", text)
	}
	_, isBool := v.(bool)
	if isNumber(v) && (!isBool || sp.verb != 0) && sp.verb != 's' {
		return rt.number(v, sp)
	}
	if sp.verb != 0 && sp.verb != 's' || sp.align == '=' {
		return "", newErr(ValueError, "Unknown format code '%c' for object of type '%s'", sp.verb, typeName(v))
	}
	s, err := rt.str(v)
	if err != nil {
		return "", err
	}
	return rt.padText(s, sp)
}

// padText cuts to the precision and fills to the width, left-aligned unless
// said otherwise.
func (rt *runtime) padText(s string, sp spec) (string, error) {
	if sp.prec >= 0 && sp.prec < utf8.RuneCountInString(s) {
		s = string([]rune(s)[:sp.prec])
	}
	if sp.zero && sp.align == 0 {
		sp.fill = "0"
	}
	side := map[byte]int{'>': 1, '^': 2}[sp.align]
	return rt.fill(s, sp, side)
}

func (rt *runtime) fill(s string, sp spec, side int) (string, error) {
	if sp.width > maxWidth {
		return "", newErr(LimitError, "format width is too large")
	}
	n := sp.width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s, nil
	}
	if err := rt.text(len(s) + n*len(sp.fill)); err != nil {
		return "", err
	}
	left := [3]int{0, n, n / 2}[side]
	return strings.Repeat(sp.fill, left) + s + strings.Repeat(sp.fill, n-left), nil
}

// number formats a number: right-aligned unless said otherwise, zeros between
// sign and digits.
func (rt *runtime) number(v any, sp spec) (string, error) {
	if sp.prec > maxDigits || sp.width > maxWidth {
		return "", newErr(LimitError, "format precision or width is too large")
	}
	if b, ok := v.(*big.Int); ok {
		// Its digits are written, and copied for each group of three.
		if err := rt.work(b.BitLen() / 2); err != nil {
			return "", err
		}
	}
	digits, err := numberText(v, sp)
	if err != nil {
		return "", err
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	} else if sp.sign == '+' || sp.sign == ' ' {
		sign = string(sp.sign)
	}
	if sp.alt && strings.IndexByte("xXob", sp.verb) >= 0 && sp.verb != 0 {
		sign += "0" + string(sp.verb)
	}
	if sp.comma != "" {
		digits = group(digits, sp.comma)
	}
	if sp.zero && sp.align == 0 {
		sp.align, sp.fill = '=', "0"
	}
	if sp.align == '=' {
		sp.width -= len(sign)
		s, err := rt.fill(digits, sp, 1)
		return sign + s, err
	}
	side := map[byte]int{0: 1, '>': 1, '^': 2}[sp.align]
	return rt.fill(sign+digits, sp, side)
}

// group puts sep between thousands.
func group(digits, sep string) string {
	end := strings.IndexAny(digits, ".e%")
	if end < 0 {
		end = len(digits)
	}
	out := digits[end:]
	for end > 3 {
		out = sep + digits[end-3:end] + out
		end -= 3
	}
	return digits[:end] + out
}

func numberText(v any, sp spec) (string, error) {
	n, isInt := toBig(v)
	switch sp.verb {
	case 'd', 'x', 'X', 'o', 'b', 'n', 0:
		base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'b': 2}[sp.verb]
		if base == 0 {
			base = 10
		}
		if isInt {
			if sp.prec >= 0 {
				return "", newErr(ValueError, "Precision not allowed in integer format specifier")
			}
			s := n.Text(base)
			if sp.verb == 'X' {
				s = strings.ToUpper(s)
			}
			return s, nil
		}
		if base != 10 || sp.verb == 'd' {
			return "", newErr(ValueError, "Unknown format code '%c' for object of type '%s'", sp.verb, typeName(v))
		}
		if sp.prec < 0 {
			return floatRepr(toFloat(v)), nil
		}
		sp.verb = 'g'
	}
	f := toFloat(v)
	prec := sp.prec
	if prec < 0 {
		prec = 6
	}
	tail := ""
	verb := sp.verb
	if verb == '%' {
		f, verb, tail = f*100, 'f', "%"
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return floatRepr(f) + tail, nil
	}
	switch verb {
	case 'f', 'F':
		return strconv.FormatFloat(f, 'f', prec, 64) + tail, nil
	case 'e', 'E':
		return strconv.FormatFloat(f, verb, prec, 64), nil
	}
	return general(f, max(prec, 1), verb), nil
}

// general is %g: exponent notation below 1e-4 and from 10**prec, no trailing zeros.
func general(f float64, prec int, verb byte) string {
	if f == 0 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	e := strconv.FormatFloat(f, 'e', prec-1, 64)
	x, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	var s string
	if x < -4 || x >= prec {
		mant, tail, _ := strings.Cut(e, "e")
		if strings.Contains(mant, ".") {
			mant = strings.TrimRight(strings.TrimRight(mant, "0"), ".")
		}
		s = mant + "e" + tail
	} else {
		s = strconv.FormatFloat(f, 'f', prec-1-x, 64)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
	}
	if verb == 'G' {
		s = strings.ToUpper(s)
	}
	return s
}
