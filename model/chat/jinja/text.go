package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// str is Python's str(v): what printing shows.
func (rt *runtime) str(v any) (string, error) {
	switch x := v.(type) {
	case string:
		return x, nil
	case *Undefined:
		return "", nil
	}
	return rt.repr(v)
}

// plain is str for values that need no runtime: numbers, strings, hash keys.
func plain(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case longInt:
		return string(x)
	case nil:
		return "None"
	case bool:
		if x {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return floatRepr(x)
	}
	return fmt.Sprintf("<%s %p>", typeName(v), v)
}

// floatRepr is Python's repr of a float: the shortest digits that read back
// the same, with an exponent below 1e-4 and from 1e16.
func floatRepr(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}

// repr is Python's repr(v).
func (rt *runtime) repr(v any) (string, error) {
	var b strings.Builder
	err := rt.writeRepr(&b, v)
	if err == nil {
		err = rt.text(b.Len())
	}
	return b.String(), err
}

func (rt *runtime) writeRepr(b *strings.Builder, v any) error {
	if err := rt.enter(); err != nil {
		return err
	}
	defer func() { rt.depth-- }()
	if err := rt.work(1); err != nil {
		return err
	}
	if b.Len() > rt.valueBytes {
		return rt.text(b.Len())
	}
	switch x := v.(type) {
	case string:
		if err := rt.text(len(x)); err != nil {
			return err
		}
		rt.writeStrRepr(b, x)
	case *List:
		return rt.writeItems(b, "[", x.items, "]")
	case *Tuple:
		end := ")"
		if len(x.items) == 1 {
			end = ",)"
		}
		return rt.writeItems(b, "(", x.items, end)
	case *Dict:
		return rt.writePairs(b, x)
	case *view:
		items, err := rt.viewItems(x)
		if err != nil {
			return err
		}
		b.WriteString("dict_" + x.what + "(")
		if err := rt.writeItems(b, "[", items, "]"); err != nil {
			return err
		}
		b.WriteByte(')')
	case *Namespace:
		b.WriteString("<Namespace ")
		if err := rt.writePairs(b, x.fields); err != nil {
			return err
		}
		b.WriteByte('>')
	case *Undefined:
		b.WriteString("Undefined")
	case *Macro:
		b.WriteString("<Macro '" + x.def.name + "'>")
	case nil, bool, int64, longInt, float64:
		b.WriteString(plain(v))
	default:
		b.WriteString("<" + typeName(v) + ">")
	}
	return nil
}

func (rt *runtime) writeItems(b *strings.Builder, open string, items []any, end string) error {
	b.WriteString(open)
	for i, it := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := rt.writeRepr(b, it); err != nil {
			return err
		}
	}
	b.WriteString(end)
	return nil
}

func (rt *runtime) writePairs(b *strings.Builder, d *Dict) error {
	b.WriteByte('{')
	for i, k := range d.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := rt.writeRepr(b, k); err != nil {
			return err
		}
		b.WriteString(": ")
		if err := rt.writeRepr(b, d.vals[i]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// writeStrRepr quotes as Python does: single quotes unless the text has them
// and no double quotes.
func (rt *runtime) writeStrRepr(b *strings.Builder, s string) {
	q := '\''
	if t := rt.bare(s); strings.ContainsRune(t, '\'') && !strings.ContainsRune(t, '"') {
		q = '"'
	}
	b.WriteRune(q)
	for i, r := range s {
		if b.Len() > rt.valueBytes {
			return // writeRepr or str refuses it
		}
		written := r
		switch r = rt.bareRune(r); {
		case r == q || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(written)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && isBadByte(s[i:]):
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(written)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteRune(q)
}

func isBadByte(s string) bool {
	_, n := utf8.DecodeRuneInString(s)
	return n == 1
}
