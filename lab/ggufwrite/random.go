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
		buf, values := make([]byte, 1<<16), make([]float32, 1<<15)
		for left := elements / block; left > 0; {
			n := int(min(left, int64(len(buf)/size)))
			part := buf[:n*size]
			if d.Quantised() {
				quant.Random(d, part, deviation, r.Uint64)
			} else {
				for i := range n {
					u := float64(r.Uint64()>>11) / (1 << 53)
					values[i] = float32(mean + deviation*math.Sqrt(3)*(2*u-1))
				}
				quant.Quantize(d, part, values[:n])
			}
			if _, err := w.Write(part); err != nil {
				return err
			}
			left -= int64(n)
		}
		return nil
	}
}
