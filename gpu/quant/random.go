package quant

import (
	"encoding/binary"

	"github.com/troupe-engine/troupe/gpu"
)

// made says how a block of random bits becomes weights with mean near 0: how
// large its minimum is for a scale of 1, and the deviation of elements then.
var made = map[gpu.DType]struct{ ratio, deviation float64 }{
	gpu.Q8_0: {0, 73.9}, gpu.Q4_0: {0, 4.64}, gpu.Q5_0: {0, 9.25}, gpu.Q4_1: {-7.5, 4.61}, gpu.Q5_1: {-15.5, 9.23},
	gpu.Q2_K: {1.5, 14}, gpu.Q3_K: {0, 43.4}, gpu.Q4_K: {7.5, 263}, gpu.Q5_K: {15.5, 495}, gpu.Q6_K: {0, 1370},
	gpu.IQ4_NL: {0, 67}, gpu.IQ4_XS: {0, 1235},
}

// Random fills whole blocks of a quantised type with made-up weights of mean
// near 0 and about the deviation asked for: random codes, scales that differ by
// a factor of up to 3. next gives 64 random bits a call. It serves tests and
// models without weights; it panics on a type that is not quantised.
func Random(d gpu.DType, dst []byte, deviation float64, next func() uint64) {
	m, ok := made[d]
	if !ok {
		panic("quant: " + d.String() + " is not quantised")
	}
	check(d, len(dst)/d.BlockBytes()*d.BlockLen(), len(dst))
	at := scales[d]
	var word [8]byte
	for i := 0; i < len(dst); i += 8 {
		binary.LittleEndian.PutUint64(word[:], next())
		copy(dst[i:], word[:])
	}
	for ; len(dst) > 0; dst = dst[d.BlockBytes():] {
		// Uniform in [0.5, 1.5), whose root mean square is 1.04.
		scale := deviation / m.deviation / 1.04 * (0.5 + float64(next()>>11)/(1<<53))
		putHalf(dst[at.scale:], float32(scale))
		if at.least >= 0 {
			putHalf(dst[at.least:], float32(scale*m.ratio))
		}
	}
}
