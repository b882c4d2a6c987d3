package jinja

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// maxJSONDepth bounds nested arrays and objects, far above real messages.
const maxJSONDepth = 500

// DecodeJSON reads one JSON value into template values: objects keep the order
// of their keys (of equal keys the last value counts), numbers without
// fraction and exponent are integers. The error names what and where.
//
// The texts among the values share the memory of data, which must not change
// from then on: a long conversation is in memory once.
func DecodeJSON(data []byte) (any, error) {
	if !json.Valid(data) {
		var v any
		err := json.Unmarshal(data, &v)
		if se, ok := err.(*json.SyntaxError); ok {
			return nil, fmt.Errorf("invalid JSON at byte %d: %w", se.Offset, err)
		}
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	d := &jsonReader{s: unsafe.String(unsafe.SliceData(data), len(data))}
	return d.value()
}

// jsonReader walks JSON that is known to be valid.
type jsonReader struct {
	s     string
	i     int
	depth int
}

func (d *jsonReader) space() {
	for d.i < len(d.s) && strings.IndexByte(" \t\r\n", d.s[d.i]) >= 0 {
		d.i++
	}
}

// next skips space, consumes one byte and returns it.
func (d *jsonReader) next() byte {
	d.space()
	d.i++
	return d.s[d.i-1]
}

func (d *jsonReader) value() (any, error) {
	switch c := d.next(); c {
	case 'n':
		d.i += len("ull")
		return nil, nil
	case 't':
		d.i += len("rue")
		return true, nil
	case 'f':
		d.i += len("alse")
		return false, nil
	case '"':
		return d.str(), nil
	case '[', '{':
		d.depth++
		defer func() { d.depth-- }()
		if d.depth > maxJSONDepth {
			return nil, fmt.Errorf("JSON nested more than %d deep at byte %d", maxJSONDepth, d.i)
		}
		if c == '[' {
			return d.array()
		}
		return d.object()
	}
	d.i--
	return d.number()
}

func (d *jsonReader) array() (any, error) {
	l := &List{}
	if d.space(); d.s[d.i] == ']' {
		d.i++
		return l, nil
	}
	for {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, v)
		if d.next() == ']' {
			return l, nil
		}
	}
}

func (d *jsonReader) object() (any, error) {
	o := NewDict(4)
	if d.space(); d.s[d.i] == '}' {
		d.i++
		return o, nil
	}
	for {
		d.next() // the quote
		key := d.str()
		d.next() // the colon
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		o.Set(key, v)
		if d.next() == '}' {
			return o, nil
		}
	}
}

// str reads a string whose opening quote is consumed.
func (d *jsonReader) str() string {
	start := d.i
	for simple := true; ; d.i++ {
		switch c := d.s[d.i]; {
		case c == '\\':
			simple = false
			d.i++
		case c == '"':
			d.i++
			raw := d.s[start : d.i-1]
			if simple && utf8.ValidString(raw) {
				return raw
			}
			var s string
			if err := json.Unmarshal([]byte(d.s[start-1:d.i]), &s); err != nil {
				panic("jinja: valid JSON holds an invalid string: " + err.Error())
			}
			return s
		}
	}
}

func (d *jsonReader) number() (any, error) {
	start := d.i
	isInt := true
	for ; d.i < len(d.s); d.i++ {
		c := d.s[d.i]
		if c == '.' || c == 'e' || c == 'E' {
			isInt = false
		} else if (c < '0' || c > '9') && c != '-' && c != '+' {
			break
		}
	}
	return parseNumber(d.s[start:d.i], isInt)
}

func parseNumber(s string, isInt bool) (any, error) {
	if !isInt {
		f, _ := strconv.ParseFloat(s, 64) // out of range is infinity, as in Python
		return f, nil
	}
	if len(s) <= len("-9223372036854775808") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
	}
	n, ok := parseInt(s, 10)
	if !ok {
		return nil, fmt.Errorf("integer of %d digits, at most %d are allowed", len(s), maxDigits)
	}
	return n, nil
}
