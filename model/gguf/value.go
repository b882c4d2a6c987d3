package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Kind is the type of a metadata value, by the format's numbers.
type Kind uint32

// Kinds of values.
const (
	Uint8 Kind = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
)

var kinds = [...]struct {
	name string
	size int64 // bytes; the least where they vary
}{
	Uint8: {"uint8", 1}, Int8: {"int8", 1}, Uint16: {"uint16", 2}, Int16: {"int16", 2},
	Uint32: {"uint32", 4}, Int32: {"int32", 4}, Float32: {"float32", 4}, Bool: {"bool", 1},
	String: {"string", 8}, Array: {"array", 12}, Uint64: {"uint64", 8}, Int64: {"int64", 8}, Float64: {"float64", 8},
}

func (k Kind) known() bool { return int(k) < len(kinds) }

// fixed reports whether all values of the kind have the same size.
func (k Kind) fixed() bool { return k.known() && k != String && k != Array }

func (k Kind) String() string {
	if !k.known() {
		return fmt.Sprintf("type %d", uint32(k))
	}
	return kinds[k].name
}

// Value is a metadata value. Its methods return false if it is of another kind.
// Valid until its File is closed; the caller owns what the methods return.
type Value struct {
	Kind Kind
	Elem Kind  // of an array's elements
	Len  int   // elements of an array
	At   int64 // byte of the file at which the value begins
	raw  []byte
}

// readValue checks a value and passes over it.
func readValue(c *cursor, k Kind, what string) Value {
	v := Value{Kind: k, At: c.at}
	switch {
	case !k.known():
		c.fail(c.at, "%s has type %d, which is not known; the file is damaged or newer than this program; download it again or update troupe", what, uint32(k))
	case k == Array:
		v.Elem, v.Len = skipArray(c, what, 1)
	default:
		skip(c, k, what)
	}
	if c.err != nil {
		return v
	}
	var err error
	if v.raw, err = c.b.Bytes(v.At, c.at-v.At); err != nil {
		c.fail(v.At, "%s cannot be read: %w", what, err)
	}
	return v
}

// Int is an integer of any size, signed or not.
func (v Value) Int() (int64, bool) {
	if len(v.raw) == 0 {
		return 0, false // of no file
	}
	return integer(v.Kind, v.raw)
}

// Float is a number of any kind.
func (v Value) Float() (float64, bool) {
	switch v.Kind {
	case Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v.raw))), true
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(v.raw)), true
	}
	n, ok := v.Int()
	return float64(n), ok
}

func (v Value) Bool() (is, ok bool) {
	if v.Kind != Bool {
		return false, false
	}
	return v.raw[0] == 1, true
}

// Text is a string, which need not be UTF-8.
func (v Value) Text() (string, bool) {
	if v.Kind != String {
		return "", false
	}
	return string(v.raw[8:]), true
}

func (v Value) Texts() ([]string, bool) {
	if v.Kind != Array || v.Elem != String {
		return nil, false
	}
	// One piece of memory for all.
	all, at := string(v.elements()), 0
	list := make([]string, v.Len)
	for i := range list {
		n := int(binary.LittleEndian.Uint64(v.elements()[at:]))
		list[i] = all[at+8 : at+8+n]
		at += 8 + n
	}
	return list, true
}

func (v Value) Ints() ([]int64, bool) { return numbers(v, integer) }

// Floats is an array of float32 or of integers.
func (v Value) Floats() ([]float32, bool) {
	return numbers(v, func(k Kind, b []byte) (float32, bool) {
		if k == Float32 {
			return math.Float32frombits(binary.LittleEndian.Uint32(b)), true
		}
		n, ok := integer(k, b)
		return float32(n), ok
	})
}

func numbers[T any](v Value, decode func(Kind, []byte) (T, bool)) ([]T, bool) {
	if v.Kind != Array || !v.Elem.fixed() {
		return nil, false
	}
	if _, ok := decode(v.Elem, make([]byte, 8)); !ok {
		return nil, false
	}
	list, size := make([]T, v.Len), int(kinds[v.Elem].size)
	for i := range list {
		var ok bool
		if list[i], ok = decode(v.Elem, v.elements()[i*size:]); !ok {
			return nil, false
		}
	}
	return list, true
}

// String shows a value in an error, shortened.
func (v Value) String() string {
	if n, ok := v.Int(); ok {
		return fmt.Sprint(n)
	}
	if f, ok := v.Float(); ok {
		return fmt.Sprint(f)
	}
	if b, ok := v.Bool(); ok {
		return fmt.Sprint(b)
	}
	if s, ok := v.Text(); ok {
		return clip(s)
	}
	return fmt.Sprintf("an array of %d %ss", v.Len, v.Elem)
}

// elements are the bytes after an array's kind and length.
func (v Value) elements() []byte { return v.raw[12:] }

// integer decodes the first bytes of b; false for other kinds and for overflow.
func integer(k Kind, b []byte) (int64, bool) {
	switch k {
	case Uint8:
		return int64(b[0]), true
	case Int8:
		return int64(int8(b[0])), true
	case Uint16:
		return int64(binary.LittleEndian.Uint16(b)), true
	case Int16:
		return int64(int16(binary.LittleEndian.Uint16(b))), true
	case Uint32:
		return int64(binary.LittleEndian.Uint32(b)), true
	case Int32:
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	case Uint64:
		n := binary.LittleEndian.Uint64(b)
		return int64(n), n <= math.MaxInt64
	case Int64:
		return int64(binary.LittleEndian.Uint64(b)), true
	}
	return 0, false
}
