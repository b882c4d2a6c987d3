package ggufwrite

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/troupe-engine/troupe/model/gguf"
)

// encode returns a value's kind and bytes.
func encode(value any) (gguf.Kind, []byte, error) {
	v := reflect.ValueOf(value)
	kind, err := kindOf(v.Type())
	if err != nil {
		return 0, nil, err
	}
	b, err := appendValue(nil, v)
	return kind, b, err
}

func kindOf(t reflect.Type) (gguf.Kind, error) {
	if k, ok := kinds[t.Kind()]; ok {
		return k, nil
	}
	return 0, fmt.Errorf("GGUF has no kind for a Go %s", t)
}

var kinds = map[reflect.Kind]gguf.Kind{
	reflect.Uint8: gguf.Uint8, reflect.Int8: gguf.Int8, reflect.Uint16: gguf.Uint16, reflect.Int16: gguf.Int16,
	reflect.Uint32: gguf.Uint32, reflect.Int32: gguf.Int32, reflect.Uint64: gguf.Uint64, reflect.Int64: gguf.Int64,
	reflect.Float32: gguf.Float32, reflect.Float64: gguf.Float64, reflect.Bool: gguf.Bool,
	reflect.String: gguf.String, reflect.Slice: gguf.Array,
}

func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.String:
		return appendText(b, v.String()), nil
	case reflect.Slice:
		elem, err := kindOf(v.Type().Elem())
		if err != nil {
			return nil, err
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(elem))
		b = binary.LittleEndian.AppendUint64(b, uint64(v.Len()))
		for i := range v.Len() {
			if b, err = appendValue(b, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	return binary.Append(b, binary.LittleEndian, v.Interface())
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}
