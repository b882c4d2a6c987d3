package gguf

import "fmt"

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
