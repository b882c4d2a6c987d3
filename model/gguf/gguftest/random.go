package gguftest

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu"
)

// Random is Data of random elements around mean with about the deviation given,
// the same for the same seed. Block types get random quants and scales that
// fit; mean is for F32, F16 and BF16 only.
func Random(d gpu.DType, elements int64, mean, deviation float64, seed uint64) func(io.Writer) error {
	return func(w io.Writer) error {
		r := rand.NewChaCha8(key(seed))
		block, size := int64(d.BlockLen()), d.BlockBytes()
		buf := make([]byte, 0, 1<<16)
		for left := elements / block; left > 0; {
			n := int(min(left, int64(cap(buf)/size)))
			buf = buf[:n*size]
			if d.Quantised() {
				_, _ = r.Read(buf) // never fails
				for i := range n {
					setScales(d, buf[i*size:], deviation)
				}
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

func key(seed uint64) (k [32]byte) {
	binary.LittleEndian.PutUint64(k[:], seed)
	return k
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

// scales say where a block has its float16 factors. With random bits in the
// rest of the block an element has about the deviation spread x factor, and
// minimum x factor is what must be taken off to have it around zero.
type scales struct {
	at, minAt       int // byte of the factor and of that of minima, -1 without
	spread, minimum float64
}

// The spreads are those of uniform bits: of n quants in a row sqrt((n²-1)/12),
// times that of the block's inner scales where it has them.
var layouts = map[gpu.DType]scales{
	gpu.Q8_0: {0, -1, 74, 0}, gpu.Q4_0: {0, -1, 4.6, 0}, gpu.Q5_0: {0, -1, 9.2, 0},
	gpu.Q4_1: {0, 2, 4.6, -7.5}, gpu.Q5_1: {0, 2, 9.2, -15.5},
	gpu.Q2_K: {80, 82, 14, 1.5}, gpu.Q3_K: {108, -1, 43, 0}, gpu.Q4_K: {0, 2, 258, 7.5}, gpu.Q5_K: {0, 2, 526, 15.5},
	gpu.Q6_K: {208, -1, 1370, 0}, gpu.IQ4_NL: {0, -1, 69, 0}, gpu.IQ4_XS: {0, -1, 1280, 0},
}

func setScales(d gpu.DType, block []byte, deviation float64) {
	s := layouts[d]
	factor := deviation / s.spread
	binary.LittleEndian.PutUint16(block[s.at:], gpu.ToF16(float32(factor)))
	if s.minAt >= 0 {
		binary.LittleEndian.PutUint16(block[s.minAt:], gpu.ToF16(float32(s.minimum*factor)))
	}
}
