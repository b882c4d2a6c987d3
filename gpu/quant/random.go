package quant

import (
	"encoding/binary"

	"github.com/troupe-engine/troupe/gpu"
)

// Random fills whole blocks of a quantised type with random codes, and scales that differ
// by a factor of up to 3: a mean of about 0 and the given standard deviation. next returns
// 64 random bits. For tests and models without weights; it panics for other types.
func Random(d gpu.DType, dst []byte, deviation float64, next func() uint64) {
	if !d.Quantised() {
		panic("quant: " + d.String() + " is not quantised")
	}
	check(d, len(dst)/d.BlockBytes()*d.BlockLen(), len(dst))
	f := &formats[d]
	var word [8]byte
	for i := 0; i < len(dst); i += 8 {
		binary.LittleEndian.PutUint64(word[:], next())
		copy(dst[i:], word[:])
	}
	for ; len(dst) > 0; dst = dst[d.BlockBytes():] {
		// Uniform in [0.5, 1.5), whose root mean square is 1.04.
		scale := deviation / f.deviation / 1.04 * (0.5 + float64(next()>>11)/(1<<53))
		putHalf(dst[f.scale:], float32(scale))
		if f.least >= 0 {
			putHalf(dst[f.least:], float32(scale*f.ratio))
		}
	}
}
