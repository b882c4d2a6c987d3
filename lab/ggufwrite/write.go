// Package ggufwrite writes GGUF files: models with random weights for benchmarks, and
// small ones for tests. Data is streamed, so a file of many GB takes little memory.
package ggufwrite

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/gguf"
)

type File struct {
	Version   uint32 // 0: 3
	Alignment int    // bytes, a power of two; 0: 32, and no key says so
	Keys      []Key
	Tensors   []Tensor
}

// Key is a metadata value. Value is a bool, string, sized integer or float, or
// a slice of one of them; a [][]T is an array of arrays.
type Key struct {
	Name  string
	Value any
}

// Keys makes a list of names and values in turn.
func Keys(pairs ...any) []Key {
	var keys []Key
	for i := 0; i < len(pairs); i += 2 {
		keys = append(keys, Key{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return keys
}

type Tensor struct {
	Name  string
	Type  gpu.DType
	Shape []int // [outputs, inputs]; the file has it the other way round
	// Wanted is the type that a Model has for it, which differs from Type if rows
	// do not fill its blocks; unused for other files.
	Wanted gpu.DType
	// Data writes exactly Bytes() bytes.
	Data func(io.Writer) error
}

func (t Tensor) Bytes() int64 {
	last := len(t.Shape) - 1
	return int64(gpu.Elements(t.Shape[:last])) * int64(t.Type.Bytes(t.Shape[last]))
}

// Create writes a file under a path, whose directory must exist.
func Create(path string, f File) (err error) {
	out, err := os.Create(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := bufio.NewWriterSize(out, 1<<20)
	if err := Write(w, f); err != nil {
		return err
	}
	return w.Flush()
}

// CreateEmpty writes a file whose data reads as zeros and takes no room if the file
// system can leave holes: for programs that need only a model's metadata.
func CreateEmpty(path string, f File) error {
	if f.Alignment != 0 {
		return fmt.Errorf("a file without data has the usual alignment, not %d", f.Alignment)
	}
	const align = 32
	head, err := f.head(align)
	if err != nil {
		return err
	}
	size := (int64(len(head)) + align - 1) / align * align
	for _, t := range f.Tensors {
		size += (t.Bytes() + align - 1) / align * align
	}
	if err := os.WriteFile(path, head, 0o666); err != nil {
		return err
	}
	return os.Truncate(path, size)
}

func Write(w io.Writer, f File) error {
	align := int64(32)
	if f.Alignment != 0 {
		align = int64(f.Alignment)
		f.Keys = slices.Concat(Keys("general.alignment", uint32(f.Alignment)), f.Keys)
	}
	head, err := f.head(align)
	if err != nil {
		return err
	}
	out := &counter{w: w}
	if _, err := out.Write(head); err != nil {
		return err
	}
	for _, t := range f.Tensors {
		if err := out.pad(align); err != nil {
			return err
		}
		before := out.n
		if err := t.Data(out); err != nil {
			return fmt.Errorf("tensor %s: %w", t.Name, err)
		}
		if got := out.n - before; got != t.Bytes() {
			return fmt.Errorf("tensor %s: %d bytes of data, want %d", t.Name, got, t.Bytes())
		}
	}
	return out.pad(align)
}

// head is everything before the data.
func (f File) head(align int64) ([]byte, error) {
	b := binary.LittleEndian.AppendUint32([]byte("GGUF"), cmp.Or(f.Version, 3))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(f.Tensors)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(f.Keys)))
	for _, k := range f.Keys {
		value := reflect.ValueOf(k.Value)
		kind, err := kindOf(value.Type())
		if err == nil {
			b, err = appendValue(binary.LittleEndian.AppendUint32(appendText(b, k.Name), uint32(kind)), value)
		}
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.Name, err)
		}
	}
	at := int64(0)
	for _, t := range f.Tensors {
		number, ok := gguf.TypeNumber(t.Type)
		if !ok {
			return nil, fmt.Errorf("tensor %s: GGUF has no type %s", t.Name, t.Type)
		}
		b = binary.LittleEndian.AppendUint32(appendText(b, t.Name), uint32(len(t.Shape)))
		for _, d := range slices.Backward(t.Shape) {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		b = binary.LittleEndian.AppendUint32(b, number)
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
		at += (t.Bytes() + align - 1) / align * align
	}
	return b, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (c *counter) pad(align int64) error {
	_, err := c.Write(make([]byte, (align-c.n%align)%align))
	return err
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
