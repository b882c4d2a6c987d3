package rowops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

func TestRMSNorm(t *testing.T) {
	kerneltest.LevelsAndSizes(t, func(t *testing.T, l simd.Level, r *rand.Rand, n int) {
		x, gain, out := kerneltest.Guarded(r, n), kerneltest.Guarded(r, n), kerneltest.Guarded(r, n)
		var sum float64
		for _, v := range x[:n] {
			sum += float64(v) * float64(v)
		}
		scale := 1 / math.Sqrt(sum/float64(n)+1e-5)
		RMSNorm(l, x[:n], gain[:n], out[:n], 1e-5)
		kerneltest.Unspoilt(t, "out", out, n)
		for i := range n {
			want := float64(x[i]) * scale * float64(gain[i])
			if kerneltest.Off(out[i], want, math.Abs(want)+1e-30) > 1e-6 {
				t.Fatalf("%d elements: element %d is %v, want %v", n, i, out[i], want)
			}
		}
		RMSNorm(l, x[:n], gain[:n], x[:n], 1e-5)
		for i := range n {
			if x[i] != out[i] {
				t.Fatalf("in place: element %d is %v, want %v", i, x[i], out[i])
			}
		}
	})
}

func TestRotate(t *testing.T) {
	kerneltest.LevelsAndSizes(t, func(t *testing.T, l simd.Level, r *rand.Rand, n int) {
		a, b, cos, sin := kerneltest.Guarded(r, n), kerneltest.Guarded(r, n), kerneltest.Guarded(r, n), kerneltest.Guarded(r, n)
		first, second := append([]float32(nil), a...), append([]float32(nil), b...)
		Rotate(l, first[:n], second[:n], cos[:n], sin[:n])
		kerneltest.Unspoilt(t, "first", first, n)
		kerneltest.Unspoilt(t, "second", second, n)
		for i := range n {
			x, y, c, s := float64(a[i]), float64(b[i]), float64(cos[i]), float64(sin[i])
			size := math.Abs(x*c) + math.Abs(y*s) + math.Abs(x*s) + math.Abs(y*c)
			if kerneltest.Off(first[i], x*c-y*s, size) > 1.2e-7 || kerneltest.Off(second[i], y*c+x*s, size) > 1.2e-7 {
				t.Fatalf("%d pairs: pair %d is (%v, %v), want (%v, %v)", n, i, first[i], second[i], x*c-y*s, y*c+x*s)
			}
		}
	})
}

func TestSiluMul(t *testing.T) {
	kerneltest.LevelsAndSizes(t, func(t *testing.T, l simd.Level, r *rand.Rand, n int) {
		gate, up, out := kerneltest.Guarded(r, n), kerneltest.Guarded(r, n), kerneltest.Guarded(r, n)
		for i := range n {
			gate[i] *= 10
		}
		SiluMul(l, gate[:n], up[:n], out[:n])
		kerneltest.Unspoilt(t, "out", out, n)
		for i := range n {
			g := float64(gate[i])
			want := g / (1 + math.Exp(-g)) * float64(up[i])
			if kerneltest.Off(out[i], want, math.Abs(want)+1e-30) > 6e-7 {
				t.Fatalf("%d elements: silu(%v) x %v is %v, want %v", n, gate[i], up[i], out[i], want)
			}
		}
		// Split in two and written over gate: the same bits.
		cut := r.IntN(n + 1)
		SiluMul(l, gate[:cut], up[:cut], gate[:cut])
		SiluMul(l, gate[cut:n], up[cut:n], gate[cut:n])
		for i := range n {
			if math.Float32bits(gate[i]) != math.Float32bits(out[i]) {
				t.Fatalf("cut at %d of %d: element %d is %v, want %v", cut, n, i, gate[i], out[i])
			}
		}
	})
}

func TestSiluMulEnds(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, l := range kerneltest.VectorLevels() {
		gate, up, out := []float32{-500, 0, 500, 1, inf, nan, -inf}, []float32{2, 2, 2, 2, 2, 2, 2}, make([]float32, 7)
		SiluMul(l, gate, up, out)
		for i, want := range []float32{0, 0, 1000, 2 / (1 + 1/math.E), inf, nan, nan} {
			if got := out[i]; got != want && !(math.Abs(float64(got-want)) <= 1e-6) && (got == got || want == want) {
				t.Errorf("%s: silu(%v) x 2 = %v, want %v", l, gate[i], got, want)
			}
		}
	}
}

func BenchmarkRows(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	norm, gain := kerneltest.Guarded(r, 1536)[:1536], kerneltest.Guarded(r, 1536)[:1536]
	gate, up := kerneltest.Guarded(r, 8960)[:8960], kerneltest.Guarded(r, 8960)[:8960]
	head, angles := kerneltest.Guarded(r, 128)[:128], kerneltest.Guarded(r, 128)[:128]
	out := make([]float32, 8960)
	for i := range 64 { // a rotation, or the numbers would leave float32
		angles[i], angles[64+i] = 0.6, 0.8
	}
	for _, l := range kerneltest.VectorLevels() {
		for name, run := range map[string]func(){
			"norm-1536": func() { RMSNorm(l, norm, gain, out[:1536], 1e-6) },
			"rope-12x128": func() {
				for range 12 {
					Rotate(l, head[:64], head[64:], angles[:64], angles[64:])
				}
			},
			"silu-8960": func() { SiluMul(l, gate, up, out) },
		} {
			b.Run(fmt.Sprintf("%s/%s", name, l), func(b *testing.B) {
				for b.Loop() {
					run()
				}
			})
		}
	}
}
