package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// spec is a parsed format specification of % or str.format.
type spec struct {
	fill      string
	align     byte // '<', '>', '^', '=' or 0
	sign      byte // '+', ' ' or 0
	alt, zero bool
	comma     string
	width     int
	prec      int // -1 = not given
	verb      byte
}

const maxWidth = 1 << 20 // of a format field

// percent is Python's s % arg.
func (rt *runtime) percent(s string, arg any) (any, error) {
	var args []any
	named, _ := arg.(*Dict)
	if t, ok := arg.(*Tuple); ok {
		args = t.items
	} else {
		args = []any{arg}
	}
	used := 0
	take := func() (any, error) {
		if used >= len(args) {
			return nil, typeErr("not enough arguments for format string")
		}
		used++
		return args[used-1], nil
	}
	if err := rt.text(len(s)); err != nil {
		return nil, err
	}
	lit := rt.literal(s)
	s = rt.bare(s)
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		b.WriteString(lit.upTo(i))
		sp := spec{fill: " ", prec: -1}
		var v any
		byName := false
		i++
		if i < len(s) && s[i] == '(' {
			end := strings.IndexByte(s[i:], ')')
			if end < 0 {
				return nil, newErr(ValueError, "incomplete format key")
			}
			if named == nil {
				return nil, typeErr("format requires a mapping")
			}
			val, ok := named.get(s[i+1 : i+end])
			if !ok {
				return nil, newErr("KeyError", "'%s'", s[i+1:i+end])
			}
			v, byName = val, true
			used = len(args)
			i += end + 1
		}
		for ; i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0; i++ {
			switch s[i] {
			case '-':
				sp.align = '<'
			case '+', ' ':
				sp.sign = s[i]
			case '#':
				sp.alt = true
			case '0':
				sp.zero = true
			}
		}
		var err error
		number := func(def int) int {
			if i < len(s) && s[i] == '*' {
				i++
				var w any
				if w, err = take(); err != nil {
					return def
				}
				n, e := orInt(w, def)
				err = e
				return n
			}
			n, j := scanInt(s, i, def)
			i = j
			return n
		}
		sp.width = number(0)
		if err == nil && i < len(s) && s[i] == '.' {
			i++
			sp.prec = number(0)
		}
		if err != nil {
			return nil, err
		}
		if i >= len(s) {
			return nil, newErr(ValueError, "incomplete format")
		}
		sp.verb = s[i]
		if sp.verb == '%' {
			lit.skipTo(i) // it is written with what follows
			continue
		}
		lit.skipTo(i + 1)
		if !byName {
			if v, err = take(); err != nil {
				return nil, err
			}
		}
		text, err := rt.percentField(v, sp)
		if err != nil {
			return nil, err
		}
		if err := rt.text(b.Len() + len(text)); err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	if used < len(args) && named == nil {
		return nil, typeErr("not all arguments converted during string formatting")
	}
	b.WriteString(lit.upTo(len(s)))
	return b.String(), nil
}

func scanInt(s string, i, def int) (int, int) {
	j := i
	for j < len(s) && s[j] >= '0' && s[j] <= '9' {
		j++
	}
	if j == i {
		return def, i
	}
	n, err := strconv.Atoi(s[i:j])
	if err != nil || n > maxWidth {
		n = maxWidth + 1 // refused where it is used
	}
	return n, j
}

// percentField formats one % field.
func (rt *runtime) percentField(v any, sp spec) (string, error) {
	switch sp.verb {
	case 's', 'r', 'a':
		text, err := rt.str(v)
		if sp.verb != 's' {
			text, err = rt.repr(v)
		}
		if err != nil {
			return "", err
		}
		sp.zero = false
		if sp.align == 0 {
			sp.align = '>'
		}
		return rt.padText(text, sp)
	case 'c':
		if s, ok := asStr(v); ok && utf8.RuneCountInString(s) == 1 {
			return rt.padText(s, sp)
		}
		return "", typeErr("%%c requires int or char")
	case 'i', 'u':
		sp.verb = 'd'
	}
	if !isNumber(v) {
		if u, ok := v.(*Undefined); ok {
			return "", u.fail()
		}
		return "", typeErr("%%%c format: a real number is required, not %s", sp.verb, typeName(v))
	}
	if f, ok := v.(float64); ok && sp.verb == 'd' {
		n, ok := floatToInt(f)
		if !ok {
			return "", newErr(ValueError, "cannot convert float to integer")
		}
		v = n
	}
	if strings.IndexByte("dxXoeEfFgG", sp.verb) < 0 {
		return "", newErr(ValueError, "unsupported format character '%c'", sp.verb)
	}
	if strings.IndexByte("dxXo", sp.verb) >= 0 {
		sp.prec = -1
	}
	return rt.number(v, sp)
}

// literal reads a format string from the front, by offsets into its bare text:
// what is read there says where the format's own characters are, and these are
// written as they are, stand-ins or not.
type literal struct {
	rt   *runtime
	s    string // what is left
	done int    // bytes of the bare text that were read
}

func (rt *runtime) literal(s string) *literal { return &literal{rt: rt, s: s} }

// upTo is the text from where the last call ended to an offset.
func (l *literal) upTo(to int) string {
	n := to - l.done
	for at := 0; at < n; {
		next, c := l.rt.nextStandIn(l.s[:min(len(l.s), n+standInBytes)], at)
		if next >= n {
			break
		}
		n += standInBytes - utf8.RuneLen(c)
		at = next + standInBytes
	}
	part := l.s[:n]
	l.s, l.done = l.s[n:], to
	return part
}

func (l *literal) skipTo(to int) { l.upTo(to) }
