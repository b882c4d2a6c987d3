package jinja

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/internal/jsonread"
)

// maxJSONDepth bounds nested arrays and objects, far above real messages.
const maxJSONDepth = 500

// Builder makes template values of JSON: objects keep the order of their keys,
// numbers without fraction and exponent are integers.
var Builder = &jsonread.Builder{
	Number: func(digits string) any {
		if n, ok := parseInt(digits); ok {
			return n
		}
		f, _ := strconv.ParseFloat(digits, 64) // out of range is infinity, as in Python
		return f
	},
	Array: func(elements []any) any { return newList(elements) },
	Object: func(keys []string, values []any) any {
		d := NewDict(len(keys))
		for i, key := range keys {
			d.Set(key, values[i])
		}
		return d
	},
}

// DecodeJSON reads one JSON value into template values. Of equal keys the last
// value counts. The error names problem and place.
//
// The texts among the values share the memory of data, which must not change
// from then on: a long conversation is in memory once.
func DecodeJSON(data []byte) (any, error) {
	limits := jsonread.Limits{Values: math.MaxInt, Depth: maxJSONDepth, Digits: maxDigits, Repeats: true}
	return jsonread.Value(context.Background(), data, limits, Builder)
}

// FromGo converts a Go value to a template value: values of the package and the
// basic types as they are, anything else by way of its JSON.
func FromGo(v any) (any, error) {
	switch x := v.(type) {
	case nil, bool, int64, longInt, float64, *List, *Dict, *Undefined, *Function:
		return v, nil
	case string:
		// Slicing and padding count on valid UTF-8.
		return strings.ToValidUTF8(x, "\ufffd"), nil
	case []any: // may hold values of templates, which JSON does not know
		list := newList(make([]any, len(x)))
		for i, item := range x {
			var err error
			if list.items[i], err = FromGo(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%T cannot be a template value: %w", v, err)
	}
	return DecodeJSON(data)
}

// toJSONFilter is tojson as transformers defines it: Python's json.dumps
// without ASCII escapes, keys in the dict's order.
func toJSONFilter(rt *runtime, v any, a args) any {
	w := &writer{rt: rt, json: true, item: ", ", key: ": ", ascii: a.bool(0)}
	if indent := a.value(1, nil); indent != nil {
		w.pretty, w.item, w.indent = true, ",", rt.indentation(indent)
	}
	if sep := a.value(2, nil); sep != nil {
		parts := rt.iterate(sep)
		if len(parts) != 2 {
			panic(newErr(ValueError, "tojson separators: expected 2, got %d", len(parts)))
		}
		w.item, w.key = needStr(parts[0]), needStr(parts[1])
	}
	return w.text(v)
}

// fromJSONFilter is not in transformers, but templates written for other
// engines read tool arguments with it.
func fromJSONFilter(rt *runtime, v any, _ args) any {
	s := needStr(v)
	rt.work(len(s))
	d, err := DecodeJSON([]byte(rt.bare(s)))
	if err != nil {
		panic(newErr(ValueError, "from_json: %v", err))
	}
	if rt.marks == nil {
		return d
	}
	// Escapes are characters now. A stand-in among them would become another
	// character, and the whole text is the client's, even if it had none of the
	// characters that are followed.
	rt.rewrite(d, func(s string) string {
		if at, _ := rt.nextStandIn(s, 0); at < len(s) {
			r, _ := utf8.DecodeRuneInString(s[at:])
			panic(newErr(ValueError, "from_json: the text has the noncharacter U+%04X; remove it", r))
		}
		return s
	})
	return rt.rewrite(d, rt.markText)
}

// indentation is a text, or a number of blanks.
func (rt *runtime) indentation(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	n := needInt(v)
	rt.text(n)
	return strings.Repeat(" ", max(n, 0))
}

// jsonNames are constants as json.dumps writes them, by their repr.
var jsonNames = map[string]string{"None": "null", "True": "true", "False": "false", "nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

// jsonNumber prints None, a bool or a number as json.dumps does.
func jsonNumber(v any) string {
	s := plain(v)
	return cmp.Or(jsonNames[s], s)
}
