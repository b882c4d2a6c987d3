// Package ggufdata makes the data of a tensor for lab/ggufwrite from values that a test chooses.
package ggufdata

import (
	"encoding/binary"
	"io"
	"math"
)

// Bytes returns Data of these bytes.
func Bytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// Floats returns Data of F32.
func Floats(values ...float32) func(io.Writer) error {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return Bytes(b)
}
