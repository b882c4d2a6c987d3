package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// SameBits reports the first element whose bits differ.
func SameBits(a, b []float32) error {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return fmt.Errorf("element %d is %v, want exactly %v", i, a[i], b[i])
		}
	}
	return nil
}

// FMA32 rounds once: the float64 sum is rounded to odd, so rounding it again is exact.
func FMA32(a, b, c float32) float32 {
	product := float64(a) * float64(b)
	sum := product + float64(c)
	if math.IsInf(sum, 0) || sum != sum {
		return float32(sum)
	}
	back := sum - product
	left := (product - (sum - back)) + (float64(c) - back)
	if bits := math.Float64bits(sum); left != 0 && bits&1 == 0 {
		if (left > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}

// Same reports whether a and b have the same bits, or are both NaN.
func Same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// HalfTwin converts a float16 in the simplest way.
func HalfTwin(h uint16) float32 {
	m, e := float64(h&1023)/1024+1, int(h>>10&31)-15
	if e == -15 {
		m, e = m-1, -14
	}
	if h>>15 == 1 {
		m = -m
	}
	return float32(math.Ldexp(m, e))
}

// sentinel follows what a kernel may write.
const sentinel = float32(12345)

// Guarded is n random elements between -4 and 4, followed by sentinels.
func Guarded(r *rand.Rand, n int) []float32 {
	x := make([]float32, n+40)
	for i := range x {
		x[i] = sentinel
	}
	for i := range n {
		x[i] = 8*r.Float32() - 4
	}
	return x
}

// Unspoilt fails the test if a sentinel after n elements has changed.
func Unspoilt(t *testing.T, what string, x []float32, n int) {
	t.Helper()
	for i, v := range x[n:] {
		if v != sentinel {
			t.Fatalf("%s: element %d after %d elements is %v", what, i, n, v)
		}
	}
}

// LevelsAndSizes runs a test at every level for lengths around whole vectors.
func LevelsAndSizes(t *testing.T, run func(t *testing.T, l simd.Level, r *rand.Rand, n int)) {
	for _, l := range VectorLevels() {
		t.Run(l.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(l)))
			for n := 1; n <= 150; n++ {
				run(t, l, r, n)
			}
			run(t, l, r, 896)
			run(t, l, r, 4099)
		})
	}
}

// Off is the error of got relative to size.
func Off(got float32, want, size float64) float64 {
	return math.Abs(float64(got)-want) / (size + 1e-30)
}

// VectorLevels are the levels with vector kernels. AMX adds only intgemm.MultiplyAMX.
func VectorLevels() []simd.Level {
	return slices.DeleteFunc(simd.Levels(), func(l simd.Level) bool { return l == simd.AMX })
}
