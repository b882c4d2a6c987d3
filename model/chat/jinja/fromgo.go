package jinja

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"sort"
	"strings"
)

// FromGo converts a Go value to a template value: values of the package as
// they are, the basic types, json.Number and json.RawMessage, slices, maps
// with string keys (sorted, as Go maps have no order), functions of type
// Function, and anything else by way of its JSON.
func FromGo(v any) (any, error) { return fromGo(v, 0) }

func fromGo(v any, depth int) (any, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxJSONDepth)
	}
	switch x := v.(type) {
	case nil, bool, int64, float64, *List, *Tuple, *Dict, *Undefined, Markup:
		return v, nil
	case string:
		// Slicing and padding count on valid UTF-8.
		return strings.ToValidUTF8(x, "�"), nil
	case Function:
		return x, nil
	case *big.Int:
		return normInt(new(big.Int).Set(x)), nil
	case float32:
		return float64(x), nil
	case json.Number:
		return parseNumber(string(x), !strings.ContainsAny(string(x), ".eE"))
	case json.RawMessage:
		return DecodeJSON(x)
	case []any:
		l := &List{items: make([]any, len(x))}
		for i, it := range x {
			c, err := fromGo(it, depth+1)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			l.items[i] = c
		}
		return l, nil
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		d := NewDict(len(x))
		for _, k := range keys {
			c, err := fromGo(x[k], depth+1)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			d.Set(k, c)
		}
		return d, nil
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32:
		return rv.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return normInt(new(big.Int).SetUint64(rv.Uint())), nil
	case reflect.Slice, reflect.Array:
		if _, ok := v.(json.Marshaler); ok {
			break
		}
		items := make([]any, rv.Len())
		for i := range items {
			items[i] = rv.Index(i).Interface()
		}
		return fromGo(items, depth)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%T cannot be a template value: %w", v, err)
	}
	return DecodeJSON(data)
}
