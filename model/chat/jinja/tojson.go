package jinja

import (
	"fmt"
	"math"
	"strings"
)

// toJSONFilter is tojson as transformers defines it: Python's json.dumps
// without ASCII escapes, keys in the dict's order.
func toJSONFilter(rt *runtime, v any, a args) (any, error) {
	w := &jsonWriter{rt: rt, item: ", ", key: ": ", ascii: a.bool(0)}
	if indent := a.value(1, nil); indent != nil {
		w.pretty, w.item = true, ","
		if s, ok := indent.(string); ok {
			w.indent = s
		} else {
			n, err := asInt(indent)
			if err != nil {
				return nil, err
			}
			if err := rt.text(n); err != nil {
				return nil, err
			}
			w.indent = strings.Repeat(" ", max(n, 0))
		}
	}
	if sep := a.value(2, nil); sep != nil {
		parts, err := rt.iterate(sep)
		if err != nil {
			return nil, err
		}
		if len(parts) != 2 {
			return nil, newErr(ValueError, "tojson separators: expected 2, got %d", len(parts))
		}
		if w.item, err = needStr(parts[0]); err != nil {
			return nil, err
		}
		if w.key, err = needStr(parts[1]); err != nil {
			return nil, err
		}
	}
	err := w.value(v, 0)
	if err == nil {
		err = rt.text(w.b.Len())
	}
	return w.b.String(), err
}

type jsonWriter struct {
	rt            *runtime
	b             strings.Builder
	item, key     string // separators
	indent        string
	pretty, ascii bool
}

func (w *jsonWriter) value(v any, level int) error {
	if err := w.rt.enter(); err != nil {
		return err
	}
	defer func() { w.rt.depth-- }()
	if err := w.rt.work(1); err != nil {
		return err
	}
	if w.b.Len() > w.rt.valueBytes {
		return w.rt.text(w.b.Len())
	}
	switch x := v.(type) {
	case nil:
		w.b.WriteString("null")
	case bool, int64, longInt, float64:
		w.b.WriteString(jsonScalar(v))
	case string:
		return w.str(x)
	case *List:
		return w.list(x.items, level)
	case *Tuple:
		return w.list(x.items, level)
	case *Dict:
		return w.dict(x, level)
	default:
		return typeErr("Object of type %s is not JSON serializable", typeName(v))
	}
	return nil
}

// jsonScalar prints a number or bool as json.dumps does.
func jsonScalar(v any) string {
	switch x := v.(type) {
	case bool:
		if x {
			return "true"
		}
		return "false"
	case float64:
		switch {
		case math.IsNaN(x):
			return "NaN"
		case math.IsInf(x, 0):
			return strings.Replace(floatRepr(x), "inf", "Infinity", 1)
		}
	}
	return plain(v)
}

// newline starts a line at a level, when printing with indent.
func (w *jsonWriter) newline(level int) error {
	if !w.pretty {
		return nil
	}
	if err := w.rt.text(level * len(w.indent)); err != nil {
		return err
	}
	w.b.WriteByte('\n')
	for range level {
		w.b.WriteString(w.indent)
	}
	return nil
}

func (w *jsonWriter) list(items []any, level int) error {
	if len(items) == 0 {
		w.b.WriteString("[]")
		return nil
	}
	w.b.WriteByte('[')
	for i, it := range items {
		if i > 0 {
			w.b.WriteString(w.item)
		}
		if err := w.newline(level + 1); err != nil {
			return err
		}
		if err := w.value(it, level+1); err != nil {
			return err
		}
	}
	err := w.newline(level)
	w.b.WriteByte(']')
	return err
}

func (w *jsonWriter) dict(d *Dict, level int) error {
	if len(d.keys) == 0 {
		w.b.WriteString("{}")
		return nil
	}
	if err := w.rt.work(len(d.keys)); err != nil {
		return err
	}
	w.b.WriteByte('{')
	for i, key := range d.keys {
		if i > 0 {
			w.b.WriteString(w.item)
		}
		if err := w.newline(level + 1); err != nil {
			return err
		}
		k, ok := key.(string)
		if !ok {
			switch x := key.(type) {
			case nil:
				k = "null"
			case bool, int64, longInt, float64:
				k = jsonScalar(x)
			default:
				return typeErr("keys must be str, int, float, bool or None, not %s", typeName(x))
			}
		}
		if err := w.str(k); err != nil {
			return err
		}
		w.b.WriteString(w.key)
		if err := w.value(d.vals[i], level+1); err != nil {
			return err
		}
	}
	err := w.newline(level)
	w.b.WriteByte('}')
	return err
}

var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}

func (w *jsonWriter) str(s string) error {
	if err := w.rt.text(len(s)); err != nil {
		return err
	}
	w.b.WriteByte('"')
	start := 0
	for i, r := range s {
		size := len(string(r))
		r = w.rt.bareRune(r)
		if r >= 0x20 && r != '"' && r != '\\' && (r < 0x7f || !w.ascii) {
			continue
		}
		w.b.WriteString(s[start:i])
		if w.b.Len() > w.rt.valueBytes {
			return w.rt.text(w.b.Len())
		}
		start = i + size
		if r == 0xfffd && isBadByte(s[i:]) {
			start = i + 1
		}
		switch e, ok := jsonEscapes[r]; {
		case ok:
			w.b.WriteString(e)
		case r == 0x7f:
			w.b.WriteByte(0x7f) // ASCII: written as it is
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		}
	}
	w.b.WriteString(s[start:])
	w.b.WriteByte('"')
	return nil
}
