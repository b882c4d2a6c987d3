package kernel

import "math"

// Pause tells the processor n times that the caller spins.
func Pause(n int) {
	if n > 0 {
		pause(n)
	}
}

// Prefetch asks for memory that is read soon: for the lines at b[0], b[apart],
// b[2*apart] and so on. It returns at once and changes nothing.
func Prefetch(b []byte, apart int) {
	if n := (len(b) + apart - 1) / apart; n > 0 {
		prefetch(&b[0], n, apart)
	}
}

// ReadSum reads memory as fast as the level can, which is what a share of the
// bandwidth is measured against. What it returns depends on all bytes and means
// nothing. len(b) is a multiple of 512.
func ReadSum(l Level, b []byte) float32 {
	if len(b)%512 != 0 {
		panic("kernel: ReadSum takes multiples of 512 bytes")
	}
	if len(b) == 0 {
		return 0
	}
	switch l {
	case AVX512, AMX:
		return readSumAVX512(&b[0], len(b))
	case AVX2:
		return readSumAVX2(&b[0], len(b))
	}
	var sums [4]uint32
	for ; len(b) > 0; b = b[16:] {
		for i := range sums {
			sums[i] += word(b[4*i:])
		}
	}
	return math.Float32frombits(sums[0] ^ sums[1] ^ sums[2] ^ sums[3])
}

func word(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
