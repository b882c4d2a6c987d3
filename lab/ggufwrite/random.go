package ggufwrite

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// Random is Data of random elements around mean with about the deviation given,
// the same for the same seed; mean is for F32, F16 and BF16 only.
func Random(d gpu.DType, elements int64, mean, deviation float64, seed uint64) func(io.Writer) error {
	return func(w io.Writer) error {
		var key [32]byte
		binary.LittleEndian.PutUint64(key[:], seed)
		r := rand.NewChaCha8(key)
		block, size := int64(d.BlockLen()), d.BlockBytes()
		buf := make([]byte, 0, 1<<16)
		for left := elements / block; left > 0; {
			n := int(min(left, int64(cap(buf)/size)))
			if buf = buf[:n*size]; d.Quantised() {
				quant.Random(d, buf, deviation, r.Uint64)
			} else {
				buf = plain(buf[:0], d, n, func() float64 {
					u := float64(r.Uint64()>>11) / (1 << 53)
					return mean + deviation*math.Sqrt(3)*(2*u-1)
				})
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
			left -= int64(n)
		}
		return nil
	}
}

func plain(b []byte, d gpu.DType, n int, next func() float64) []byte {
	for range n {
		v := float32(next())
		switch d {
		case gpu.F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		case gpu.F16:
			b = binary.LittleEndian.AppendUint16(b, gpu.ToF16(v))
		default:
			b = binary.LittleEndian.AppendUint16(b, gpu.ToBF16(v))
		}
	}
	return b
}
