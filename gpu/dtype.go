package gpu

import (
	"fmt"
	"strings"
)

// DType is the type of stored elements. Some types store elements one by one, the others
// in blocks with scales of their own (see package gpu/quant for their layouts).
type DType uint8

// Element types. Buffers are always F32. F32, F16 and BF16 may be the type of
// anything that is stored. The block types are GGUF's and for weights only; a
// block lies within one row of a matrix.
const (
	F32 DType = iota
	F16
	BF16
	Q8_0
	Q4_0
	Q4_1
	Q5_0
	Q5_1
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	IQ4_NL
	IQ4_XS
	// I8 is for KV pools only: for each token and KV head the head_dim elements
	// of K, and those of V, are int8 with one float32 scale.
	I8
)

var dtypes = [...]struct {
	name  string
	block int // elements
	bytes int // of a block
}{
	F32: {"f32", 1, 4}, F16: {"f16", 1, 2}, BF16: {"bf16", 1, 2},
	Q8_0: {"q8_0", 32, 34}, Q4_0: {"q4_0", 32, 18}, Q4_1: {"q4_1", 32, 20}, Q5_0: {"q5_0", 32, 22}, Q5_1: {"q5_1", 32, 24},
	Q2_K: {"q2_k", 256, 84}, Q3_K: {"q3_k", 256, 110}, Q4_K: {"q4_k", 256, 144}, Q5_K: {"q5_k", 256, 176}, Q6_K: {"q6_k", 256, 210},
	IQ4_NL: {"iq4_nl", 32, 18}, IQ4_XS: {"iq4_xs", 256, 136},
	I8: {"int8", 1, 1},
}

// Known reports whether d is one of the types above.
func (d DType) Known() bool { return int(d) < len(dtypes) }

// String is the lower-case name used in options and logs.
func (d DType) String() string {
	if !d.Known() {
		return fmt.Sprintf("element type %d", uint8(d))
	}
	return dtypes[d].name
}

// Quantised reports whether elements are stored in blocks.
func (d DType) Quantised() bool { return d.Known() && dtypes[d].block > 1 }

// ForWeights reports whether weights may have this type.
func (d DType) ForWeights() bool { return d.Known() && d != I8 }

// ForKV reports whether a KV pool may have this type.
func (d DType) ForKV() bool { return d <= BF16 || d == I8 }

// BlockLen is the number of elements of a block; 1 for types without blocks.
func (d DType) BlockLen() int { return dtypes[d].block }

// BlockBytes is the size of a block, or of one element. For I8 see VectorBytes.
func (d DType) BlockBytes() int { return dtypes[d].bytes }

// Bytes is the size of a number of elements. It panics if they do not fill whole
// blocks: WeightSpec.Check refuses such a tensor before.
func (d DType) Bytes(elements int) int {
	if elements%d.BlockLen() != 0 {
		panic(fmt.Sprintf("gpu: %d elements of %s do not fill blocks of %d", elements, d, d.BlockLen()))
	}
	return elements / d.BlockLen() * d.BlockBytes()
}

// VectorBytes is the size of one K or V of head_dim elements in a KV pool, with scale.
func (d DType) VectorBytes(headDim int) int { return d.Bytes(headDim) + d.ScaleBytes() }

// ScaleBytes is the size of the scale of one K or V in a KV pool: of I8 a float32.
func (d DType) ScaleBytes() int {
	if d == I8 {
		return 4
	}
	return 0
}

func WeightDTypes() []DType { return dtypesThat(DType.ForWeights) }

func KVDTypes() []DType { return dtypesThat(DType.ForKV) }

// FileName is the type as GGUF and safetensors files spell it.
func (d DType) FileName() string { return strings.ToUpper(d.String()) }

// WeightFileNames lists the types of weights, for errors about files.
func WeightFileNames() string { return strings.ToUpper(names(WeightDTypes())) }

func dtypesThat(may func(DType) bool) []DType {
	var list []DType
	for d := range dtypes {
		if may(DType(d)) {
			list = append(list, DType(d))
		}
	}
	return list
}

func ParseDType(s string) (DType, error) {
	all := dtypesThat(DType.Known)
	for _, d := range all {
		if d.String() == s {
			return d, nil
		}
	}
	return 0, fmt.Errorf("element type %q is not known; use one of %s", s, names(all))
}

func names(types []DType) string {
	list := make([]string, len(types))
	for i, d := range types {
		list[i] = d.String()
	}
	return strings.Join(list, ", ")
}
