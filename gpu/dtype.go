package gpu

import "fmt"

// DType is the type of stored elements.
type DType uint8

// Element types. Buffers are always F32.
const (
	F32 DType = iota
	F16
	BF16
)

var dtypes = [...]struct {
	name string
	size int
}{{"f32", 4}, {"f16", 2}, {"bf16", 2}}

// String gives the lower-case name used in options and logs.
func (d DType) String() string { return dtypes[d].name }

// Size is the bytes of one element.
func (d DType) Size() int { return dtypes[d].size }

// ParseDType is the inverse of String.
func ParseDType(s string) (DType, error) {
	for i, d := range dtypes {
		if d.name == s {
			return DType(i), nil
		}
	}
	return 0, fmt.Errorf("element type %q is not known; use f32, f16 or bf16", s)
}
