package jinja

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

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
