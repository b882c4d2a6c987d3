package convert

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

// Every 16-bit element is widened and narrowed again, and float32 of all kinds are
// narrowed: the results are the same at every level.
func TestWidenAndNarrow(t *testing.T) {
	for _, f := range []layout.Form{layout.BF16, layout.F16} {
		in, wide, plain, back := make([]uint16, 1<<16), make([]float32, 1<<16), make([]float32, 1<<16), make([]uint16, 1<<16)
		for i := range in {
			in[i] = uint16(i)
		}
		Widen(simd.Portable, f, plain, in)
		r := rand.New(rand.NewPCG(2, uint64(f)))
		sorts := make([]float32, 1<<16)
		for i := range sorts {
			sorts[i] = math.Float32frombits(r.Uint32())
			if i%4 == 0 { // next to what is halfway
				sorts[i] = math.Float32frombits(r.Uint32()&^0x1fff | 0xfff + uint32(r.IntN(3)))
			}
		}
		want := make([]uint16, len(sorts))
		Narrow(simd.Portable, f, want, sorts)
		for _, l := range kerneltest.VectorLevels() {
			Widen(l, f, wide, in)
			Narrow(l, f, back, wide)
			for i, h := range in {
				nan := plain[i] != plain[i]
				if wide[i] != plain[i] && !(nan && wide[i] != wide[i]) || !nan && back[i] != h {
					t.Fatalf("%s, %s: %04x widens to %v, want %v, and comes back as %04x", f, l, h, wide[i], plain[i], back[i])
				}
			}
			Narrow(l, f, back, sorts)
			for i, x := range sorts {
				if back[i] != want[i] && x == x {
					t.Fatalf("%s, %s: %v (%08x) becomes %04x, want %04x", f, l, x, math.Float32bits(x), back[i], want[i])
				}
				Widen(l, f, wide[:1], back[i:i+1])
				if x != x && wide[0] == wide[0] {
					t.Fatalf("%s, %s: NaN (%08x) becomes %04x", f, l, math.Float32bits(x), back[i])
				}
			}
			for n := range 70 {
				Narrow(l, f, back[:n], sorts[:n])
				Widen(l, f, wide[:n], back[:n])
			}
		}
	}
}

func TestWidenI8(t *testing.T) {
	kerneltest.LevelsAndSizes(t, func(t *testing.T, l simd.Level, r *rand.Rand, n int) {
		ints, wide := make([]int8, n), kerneltest.Guarded(r, n)
		for i := range ints {
			ints[i] = int8(i)
		}
		WidenI8(l, wide[:n], ints)
		kerneltest.Unspoilt(t, "widened", wide, n)
		for i, x := range ints {
			if wide[i] != float32(x) {
				t.Fatalf("%d elements: %d widens to %v", n, x, wide[i])
			}
		}
	})
}

func BenchmarkNarrow(b *testing.B) {
	in, out := kerneltest.Guarded(rand.New(rand.NewPCG(3, 3)), 8960)[:8960], make([]uint16, 8960)
	for _, l := range kerneltest.VectorLevels() {
		b.Run(l.String(), func(b *testing.B) {
			for b.Loop() {
				Narrow(l, layout.BF16, out, in)
			}
		})
	}
}
