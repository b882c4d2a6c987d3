package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

const maxNesting = 4

// Value is a metadata value. Its methods return false where it is of another
// kind. Good until its File is closed; what the methods return is the caller's.
type Value struct {
	Kind Kind
	Elem Kind  // of an array's elements
	Len  int   // elements of an array
	At   int64 // byte of the file where the value stands
	raw  []byte
}

// readValue checks a value and steps over it.
func readValue(c *cursor, k Kind, what string) (Value, error) {
	v := Value{Kind: k, At: c.at}
	switch {
	case !k.known():
		return v, fmt.Errorf("byte %d: %s is of kind %d, which is not known; the file is damaged or newer than this program", c.at, what, uint32(k))
	case k == Array:
		if err := v.walkArray(c, what, 1); err != nil {
			return v, err
		}
	default:
		if err := step(c, k, what); err != nil {
			return v, err
		}
	}
	var err error
	v.raw, err = c.b.Bytes(v.At, c.at-v.At)
	if err != nil {
		return v, fmt.Errorf("byte %d: %s cannot be read: %w", v.At, what, err)
	}
	return v, nil
}

// step moves over one value that is no array.
func step(c *cursor, k Kind, what string) error {
	if k == String {
		_, err := c.textBytes(maxHeader, what)
		return err
	}
	at := c.at
	b, err := c.take(kinds[k].size, what)
	if err == nil && k == Bool && b[0] > 1 {
		return fmt.Errorf("byte %d: %s is a bool of value %d; %s", at, what, b[0], again)
	}
	return err
}

// walkArray checks an array. The outermost one's shape is kept in v.
func (v *Value) walkArray(c *cursor, what string, depth int) error {
	at := c.at
	number, err := c.u32("the kind of elements of " + what)
	if err != nil {
		return err
	}
	elem := Kind(number)
	if !elem.known() {
		return fmt.Errorf("byte %d: %s has elements of kind %d, which is not known; the file is damaged or newer than this program", at, what, number)
	}
	if elem == Array && depth == maxNesting {
		return fmt.Errorf("byte %d: %s has arrays in arrays more than %d deep; %s", at, what, maxNesting, again)
	}
	n, err := c.count(kinds[elem].size, math.MaxInt32, "elements of "+what)
	if err != nil {
		return err
	}
	if depth == 1 {
		v.Elem, v.Len = elem, int(n)
	}
	if elem.fixed() && elem != Bool {
		_, err := c.take(n*kinds[elem].size, what)
		return err
	}
	for range n {
		if elem == Array {
			err = v.walkArray(c, what, depth+1)
		} else {
			err = step(c, elem, what)
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// Bool is a truth value.
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

// Texts is an array of strings.
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

// Ints is an array of integers.
func (v Value) Ints() ([]int64, bool) {
	if v.Kind != Array || !v.Elem.fixed() {
		return nil, false
	}
	if _, ok := integer(v.Elem, make([]byte, 8)); !ok {
		return nil, false
	}
	list, size := make([]int64, v.Len), int(kinds[v.Elem].size)
	for i := range list {
		n, ok := integer(v.Elem, v.elements()[i*size:])
		if !ok {
			return nil, false
		}
		list[i] = n
	}
	return list, true
}

// Floats is an array of float32 or of integers.
func (v Value) Floats() ([]float32, bool) {
	if v.Kind == Array && v.Elem == Float32 {
		list := make([]float32, v.Len)
		for i := range list {
			list[i] = math.Float32frombits(binary.LittleEndian.Uint32(v.elements()[4*i:]))
		}
		return list, true
	}
	whole, ok := v.Ints()
	if !ok {
		return nil, false
	}
	list := make([]float32, len(whole))
	for i, n := range whole {
		list[i] = float32(n)
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

// elements are the bytes behind an array's kind and length.
func (v Value) elements() []byte { return v.raw[12:] }

// integer decodes the first bytes of b; false for other kinds and for what
// does not fit.
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

// clip bounds a foreign string for an error text.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], "\uFFFD"))
	}
	return fmt.Sprintf("%q", s)
}
