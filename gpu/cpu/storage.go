package cpu

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// storage is how the device stores a tensor: a matrix in a type that has a form
// (forms), a vector as float32.
type storage struct {
	dtype gpu.DType
	why   reason
}

// reason is why a tensor is not kept in its stored type.
type reason uint8

const (
	asStored    reason = iota
	asRequested        // weight-dtype
	sameValues         // this type has no form; another one holds the same numbers
	asFloat32          // this type has no form; float32 holds the same numbers
	toNearest          // this type has no form; the nearest numbers of q8_0
	unevenRows         // weight-dtype needs groups of 32 columns, and the rows do not fill them
	forLogits          // weight-dtype is coarser than logits may be
)

// exact reports whether a tensor is kept without loss; a change by weight-dtype is one.
func (h storage) exact() bool {
	return h.why != toNearest && h.why != asRequested && h.why != forLogits || h.dtype == gpu.F32
}

var reasons = [...]string{
	asStored: "as stored", asRequested: "as set by weight-dtype",
	sameValues: "there is no kernel for the stored type; this type holds the same values",
	asFloat32:  "there is no kernel for the stored type with activation-dtype f32; with activation-dtype int8 the weights would be q8_0",
	toNearest:  "there is no kernel for the stored type; this is the nearest type",
	unevenRows: "the row length is not a multiple of 32, which weight-dtype requires",
	forLogits:  "the output matrix is kept at a higher precision than weight-dtype",
}

// storageOf chooses a tensor's storage. A matrix of logits is kept as q8_0 if weight-dtype
// is q4_0 (llama.cpp uses q6_k), because it decides between tokens at the very end.
func storageOf(o *Options, t gpu.Tensor, logits bool) storage {
	if len(t.Shape) != 2 {
		return storage{dtype: gpu.F32}
	}
	d, why := t.DType, asStored
	if asked := o.weights; asked != nil && *asked != d {
		d, why = *asked, asRequested
		if logits && d == gpu.Q4_0 {
			d, why = gpu.Q8_0, forLogits
		}
		if t.Shape[1]%d.BlockLen() != 0 {
			d, why = t.DType, unevenRows
		}
		if d == t.DType && why == forLogits {
			why = asStored
		}
	}
	if _, has := forms[d]; has {
		return storage{d, why}
	}
	switch {
	case inBytes(d):
		return storage{gpu.Q8_0, sameValues}
	case o.int8:
		return storage{gpu.Q8_0, toNearest}
	}
	return storage{gpu.F32, asFloat32}
}

// inBytes reports whether a block is a float16 times 32 int8, which q8_0 holds exactly.
func inBytes(d gpu.DType) bool { return d == gpu.Q5_0 || d == gpu.IQ4_NL }

// logitsOf reports which weights compute logits: those of products after Gather.
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

// encodeRow converts a row from one type to another; floats is scratch for its elements.
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

// recodeRow converts blocks of a float16 and codes to blocks of q8_0. The int8 of a
// code is its value with a scale of 1.
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
