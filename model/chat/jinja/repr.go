package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// str is Python's str(v): the text that printing shows.
func (rt *runtime) str(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case *Undefined:
		return ""
	}
	return (&writer{rt: rt, item: ", ", key: ": "}).text(v)
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
	s := strconv.FormatFloat(f, 'f', -1, 64)
	switch a := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(s, "+"))
	case a != 0 && (a < 1e-4 || a >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	case !strings.Contains(s, "."):
		return s + ".0"
	}
	return s
}

// writer writes a value as Python's repr or as JSON.
type writer struct {
	rt        *runtime
	b         strings.Builder
	item, key string // separators
	json      bool   // json.dumps, else repr
	ascii     bool   // json: escape other characters than ASCII
	pretty    bool   // json: each element on a line of its own
	indent    string // per level, if pretty
}

func (w *writer) text(v any) string {
	w.value(v, 0)
	w.rt.text(w.b.Len())
	return w.b.String()
}

// full ends the rendering when the text is too long.
func (w *writer) full() {
	if w.b.Len() > w.rt.valueBytes {
		w.rt.text(w.b.Len())
	}
}

// value writes v, which is level values deep.
func (w *writer) value(v any, level int) {
	w.rt.enter()
	w.rt.work(1)
	w.full()
	switch x := v.(type) {
	case *List:
		switch {
		case w.json || !x.tuple:
			w.list("[", x.items, "]", level)
		case len(x.items) == 1:
			w.list("(", x.items, ",)", level)
		default:
			w.list("(", x.items, ")", level)
		}
	case *Dict:
		w.dict(x, level)
	default:
		w.leaf(v, "Object of type %s is not JSON serializable")
	}
	w.rt.depth--
}

// leaf writes any other value. notJSON is the error for a type that JSON has not.
func (w *writer) leaf(v any, notJSON string) {
	switch x := v.(type) {
	case string:
		w.str(x)
		return
	case nil, bool, int64, longInt, float64:
		if w.json {
			w.b.WriteString(jsonNumber(v))
		} else {
			w.b.WriteString(plain(v))
		}
		return
	}
	if w.json {
		panic(typeErr(notJSON, typeName(v)))
	}
	switch x := v.(type) {
	case *view:
		w.b.WriteString(typeName(x))
		w.list("([", x.items, "])", 0)
	case *Namespace:
		w.b.WriteString("<Namespace ")
		w.dict(x.fields, 0)
		w.b.WriteByte('>')
	case *Undefined:
		w.b.WriteString("Undefined")
	case *Macro:
		w.b.WriteString("<Macro '" + x.def.name + "'>")
	default:
		w.b.WriteString("<" + typeName(v) + ">")
	}
}

func (w *writer) list(open string, items []any, end string, level int) {
	w.elements(open, len(items), end, level, func(i int) { w.value(items[i], level+1) })
}

func (w *writer) dict(d *Dict, level int) {
	w.rt.work(len(d.keys))
	w.elements("{", len(d.keys), "}", level, func(i int) {
		key := d.keys[i]
		if w.json && (key == nil || isNumber(key)) {
			key = jsonNumber(key)
		}
		w.leaf(key, "keys must be str, int, float, bool or None, not %s")
		w.b.WriteString(w.key)
		w.value(d.vals[i], level+1)
	})
}

func (w *writer) elements(open string, n int, end string, level int, write func(i int)) {
	w.b.WriteString(open)
	for i := range n {
		if i > 0 {
			w.b.WriteString(w.item)
		}
		w.newline(level + 1)
		write(i)
	}
	if n > 0 {
		w.newline(level)
	}
	w.b.WriteString(end)
}

func (w *writer) newline(level int) {
	if !w.pretty {
		return
	}
	w.rt.text(level * len(w.indent))
	w.b.WriteByte('\n')
	for range level {
		w.b.WriteString(w.indent)
	}
}

// str writes a quoted text. repr quotes with ', or with " if the text has ' but no ".
func (w *writer) str(s string) {
	w.rt.text(len(s))
	quote := '"'
	if !w.json {
		if bare := w.rt.bare(s); !strings.ContainsRune(bare, '\'') || strings.ContainsRune(bare, '"') {
			quote = '\''
		}
	}
	w.b.WriteRune(quote)
	start := 0
	for i, r := range s {
		char := w.rt.bareRune(r)
		if !w.escaped(char, quote) {
			continue
		}
		w.b.WriteString(s[start:i])
		w.full()
		w.escape(r, char, quote)
		start = i + utf8.RuneLen(r)
	}
	w.b.WriteString(s[start:])
	w.b.WriteRune(quote)
}

func (w *writer) escaped(r, quote rune) bool {
	switch {
	case r == quote || r == '\\' || r < 0x20:
		return true
	case w.json:
		return w.ascii && r >= 0x80
	}
	return !unicode.IsPrint(r)
}

var (
	jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}
	reprEscapes = map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}
)

// escape writes the escape of char: r, or the character that the stand-in r replaces.
func (w *writer) escape(r, char, quote rune) {
	short := reprEscapes[char]
	if w.json {
		short = jsonEscapes[char]
	}
	switch {
	case !w.json && (char == quote || char == '\\'):
		w.b.WriteString(`\` + string(r))
	case short != "":
		w.b.WriteString(short)
	case char < 0x100 && !w.json:
		fmt.Fprintf(&w.b, `\x%02x`, char)
	case char < 0x10000:
		fmt.Fprintf(&w.b, `\u%04x`, char)
	case w.json:
		high, low := utf16.EncodeRune(char)
		fmt.Fprintf(&w.b, `\u%04x\u%04x`, high, low)
	default:
		fmt.Fprintf(&w.b, `\U%08x`, char)
	}
}
