package cpu

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// hold is how the device keeps a tensor: as rows of a type that has a form
// (formOf), or a vector as float32.
type hold struct {
	dtype gpu.DType
	why   reason
}

// reason tells why a tensor is not kept as it is stored.
type reason uint8

const (
	asStored  reason = iota
	asAsked          // weight-dtype
	exactly          // there is no form of this type, but one that holds the same numbers
	widened          // the same, as float32
	rounded          // the same, to the nearest that q8_0 can say
	noGroups         // asked for groups of 32 columns that there are not
	forLogits        // asked for less than what logits keep
)

// exact tells whether a tensor is kept without loss; what was asked for may be.
func (h hold) exact() bool {
	return h.why != rounded && h.why != asAsked && h.why != forLogits || h.dtype == gpu.F32
}

var reasons = [...]string{
	asStored: "as stored", asAsked: "as weight-dtype asks",
	exactly:   "there is no kernel for the stored type, and this one has the same numbers",
	widened:   "there is no kernel for the stored type, and activation-dtype f32 rounds nothing; int8 takes q8_0 for it",
	rounded:   "there is no kernel for the stored type, and this is the nearest",
	noGroups:  "weight-dtype asks for groups of 32 elements, which the rows have no whole number of",
	forLogits: "the matrix of the logits stays finer than weight-dtype asks",
}

// holdTensor chooses. logits is whether a matrix makes logits: those of q4_0
// are kept as q8_0, where llama.cpp takes q6_k, for they decide between tokens
// at the very end.
func holdTensor(o *Options, t gpu.Tensor, logits bool) hold {
	if len(t.Shape) != 2 {
		return hold{dtype: gpu.F32}
	}
	d, why := t.DType, asStored
	if asked := o.weights; asked != nil && *asked != d {
		d, why = *asked, asAsked
		if logits && d == gpu.Q4_0 {
			d, why = gpu.Q8_0, forLogits
		}
		if t.Shape[1]%d.BlockLen() != 0 {
			d, why = t.DType, noGroups
		}
		if d == t.DType && why == forLogits {
			why = asStored
		}
	}
	if _, has := formOf(d); has {
		return hold{d, why}
	}
	switch {
	case inBytes(d):
		return hold{gpu.Q8_0, exactly}
	case o.int8:
		return hold{gpu.Q8_0, rounded}
	}
	return hold{gpu.F32, widened}
}

// inBytes tells whether elements are one float16 times an int8, 32 of them to
// the float16: what q8_0 says without loss.
func inBytes(d gpu.DType) bool { return d == gpu.Q5_0 || d == gpu.IQ4_NL }

// logitsOf tells which weights make logits: those that are multiplied with what
// Gather leaves.
func logitsOf(p *gpu.Program) []bool {
	logits, tail := make([]bool, len(p.Weights)), false
	for _, op := range p.Ops {
		switch op := op.(type) {
		case gpu.Gather:
			tail = true
		case gpu.Linear:
			logits[op.W] = logits[op.W] || tail
		}
	}
	return logits
}

// encodeRow turns a row of one type into a row of another. floats is scratch of
// as many elements as the row has.
func encodeRow(to gpu.DType, dst []byte, from gpu.DType, src []byte, floats []float32) {
	switch {
	case to == from:
		copy(dst, src)
	case to == gpu.Q8_0 && inBytes(from):
		recodeRow(dst, from, src)
	default:
		quant.Dequantize(from, floats, src)
		quant.Quantize(to, dst, floats)
	}
}

// recodeRow writes blocks of a float16 and codes as such of q8_0. What a code
// stands for is what it decodes to beside a scale of 1.
func recodeRow(dst []byte, from gpu.DType, src []byte) {
	var unit [34]byte // a block of any type that is inBytes
	var codes [32]float32
	in, out := from.BlockBytes(), gpu.Q8_0.BlockBytes()
	for ; len(src) > 0; src, dst = src[in:], dst[out:] {
		block := unit[:in]
		copy(block, src)
		block[0], block[1] = 0x00, 0x3c // 1 as float16
		quant.Dequantize(from, codes[:], block)
		copy(dst, src[:2])
		for i, c := range codes {
			dst[2+i] = byte(int8(c))
		}
	}
}
