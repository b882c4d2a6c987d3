package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sentinel stands behind what a kernel may write.
const sentinel = float32(12345)

// guarded is n random elements between -4 and 4 with sentinels behind them.
func guarded(r *rand.Rand, n int) []float32 {
	x := make([]float32, n+40)
	for i := range x {
		x[i] = sentinel
	}
	for i := range n {
		x[i] = 8*r.Float32() - 4
	}
	return x
}

// unspoilt wants the sentinels behind n elements.
func unspoilt(t *testing.T, what string, x []float32, n int) {
	t.Helper()
	for i, v := range x[n:] {
		if v != sentinel {
			t.Fatalf("%s: element %d behind %d is %v", what, i, n, v)
		}
	}
}

// levelsAndSizes runs a test at every level for lengths around whole vectors.
func levelsAndSizes(t *testing.T, run func(t *testing.T, l Level, r *rand.Rand, n int)) {
	for _, l := range vectorLevels() {
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

// off is the distance of got from want in parts of size.
func off(got float32, want, size float64) float64 {
	return math.Abs(float64(got)-want) / (size + 1e-30)
}

func TestRMSNorm(t *testing.T) {
	levelsAndSizes(t, func(t *testing.T, l Level, r *rand.Rand, n int) {
		x, gain, out := guarded(r, n), guarded(r, n), guarded(r, n)
		var sum float64
		for _, v := range x[:n] {
			sum += float64(v) * float64(v)
		}
		scale := 1 / math.Sqrt(sum/float64(n)+1e-5)
		RMSNorm(l, x[:n], gain[:n], out[:n], 1e-5)
		unspoilt(t, "out", out, n)
		for i := range n {
			want := float64(x[i]) * scale * float64(gain[i])
			if off(out[i], want, math.Abs(want)+1e-30) > 1e-6 {
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
	levelsAndSizes(t, func(t *testing.T, l Level, r *rand.Rand, n int) {
		a, b, cos, sin := guarded(r, n), guarded(r, n), guarded(r, n), guarded(r, n)
		first, second := append([]float32(nil), a...), append([]float32(nil), b...)
		Rotate(l, first[:n], second[:n], cos[:n], sin[:n])
		unspoilt(t, "first", first, n)
		unspoilt(t, "second", second, n)
		for i := range n {
			x, y, c, s := float64(a[i]), float64(b[i]), float64(cos[i]), float64(sin[i])
			size := math.Abs(x*c) + math.Abs(y*s) + math.Abs(x*s) + math.Abs(y*c)
			if off(first[i], x*c-y*s, size) > 1.2e-7 || off(second[i], y*c+x*s, size) > 1.2e-7 {
				t.Fatalf("%d pairs: pair %d is (%v, %v), want (%v, %v)", n, i, first[i], second[i], x*c-y*s, y*c+x*s)
			}
		}
	})
}

func TestSiluMul(t *testing.T) {
	levelsAndSizes(t, func(t *testing.T, l Level, r *rand.Rand, n int) {
		gate, up, out := guarded(r, n), guarded(r, n), guarded(r, n)
		for i := range n {
			gate[i] *= 10
		}
		SiluMul(l, gate[:n], up[:n], out[:n])
		unspoilt(t, "out", out, n)
		for i := range n {
			g := float64(gate[i])
			want := g / (1 + math.Exp(-g)) * float64(up[i])
			if off(out[i], want, math.Abs(want)+1e-30) > 6e-7 {
				t.Fatalf("%d elements: silu(%v) x %v is %v, want %v", n, gate[i], up[i], out[i], want)
			}
		}
		// Cut in two, over gate: the same bits.
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

func TestExpOfPlainGo(t *testing.T) {
	x := make([]float32, 1)
	worst := 0.0
	for v := float32(-86.99); v < 88; v += 0.00137 {
		x[0] = v
		expPortable(x)
		worst = max(worst, off(x[0], math.Exp(float64(v)), math.Exp(float64(v))))
	}
	if worst > 2.5e-7 {
		t.Errorf("largest relative error is %.3g", worst)
	}
	inf := float32(math.Inf(1))
	for v, want := range map[float32]float32{0: 1, -inf: 0, -200: 0, 200: inf, inf: inf} {
		x[0] = v
		if expPortable(x); x[0] != want {
			t.Errorf("e^%v = %v, want %v", v, x[0], want)
		}
	}
	x[0] = inf - inf
	if expPortable(x); x[0] == x[0] {
		t.Errorf("e^NaN = %v", x[0])
	}
}

func TestSiluMulEnds(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, l := range vectorLevels() {
		gate, up, out := []float32{-500, 0, 500, 1, inf, nan, -inf}, []float32{2, 2, 2, 2, 2, 2, 2}, make([]float32, 7)
		SiluMul(l, gate, up, out)
		for i, want := range []float32{0, 0, 1000, 2 / (1 + 1/math.E), inf, nan, nan} {
			if got := out[i]; got != want && !(math.Abs(float64(got-want)) <= 1e-6) && (got == got || want == want) {
				t.Errorf("%s: silu(%v) x 2 = %v, want %v", l, gate[i], got, want)
			}
		}
	}
}

// Every 16-bit element there and back, and float32s of all sorts down: the same
// at every level.
func TestWidenAndNarrow(t *testing.T) {
	for _, f := range []Form{BF16, F16} {
		in, wide, plain, back := make([]uint16, 1<<16), make([]float32, 1<<16), make([]float32, 1<<16), make([]uint16, 1<<16)
		for i := range in {
			in[i] = uint16(i)
		}
		Widen(Portable, f, plain, in)
		r := rand.New(rand.NewPCG(2, uint64(f)))
		sorts := make([]float32, 1<<16)
		for i := range sorts {
			sorts[i] = math.Float32frombits(r.Uint32())
			if i%4 == 0 { // next to what is halfway
				sorts[i] = math.Float32frombits(r.Uint32()&^0x1fff | 0xfff + uint32(r.IntN(3)))
			}
		}
		want := make([]uint16, len(sorts))
		Narrow(Portable, f, want, sorts)
		for _, l := range vectorLevels() {
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

func TestPeakFindAndCollect(t *testing.T) {
	levelsAndSizes(t, func(t *testing.T, l Level, r *rand.Rand, n int) {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.IntN(50)) - 60 // ties, all negative
		}
		want := 0
		for i, v := range x {
			if v > x[want] {
				want = i
			}
		}
		peak, nan := Peak(l, x)
		if peak != x[want] || nan {
			t.Fatalf("%d elements: the largest is %v (NaN: %v), want %v", n, peak, nan, x[want])
		}
		if got := Find(l, x, peak); got != want {
			t.Fatalf("%d elements: found at %d, want %d", n, got, want)
		}
		if got := Find(l, x, 3); got != n {
			t.Fatalf("%d elements: what is not there is found at %d", n, got)
		}
		ids := make([]int32, n)
		bound := float32(r.IntN(60)) - 65
		count := Collect(l, x, bound, ids)
		k := 0
		for i, v := range x {
			if v >= bound {
				if k >= count || ids[k] != int32(i) {
					t.Fatalf("%d elements: %v at least %v, want %d at %d", n, ids[:count], bound, i, k)
				}
				k++
			}
		}
		if k != count {
			t.Fatalf("%d elements: %d at least %v, want %d", n, count, bound, k)
		}
		x[r.IntN(n)] = float32(math.NaN())
		if _, nan := Peak(l, x); !nan {
			t.Fatalf("%d elements: NaN is not seen", n)
		}
	})
}

func TestExpSum(t *testing.T) {
	levelsAndSizes(t, func(t *testing.T, l Level, r *rand.Rand, n int) {
		x := make([]float32, n)
		for i := range x {
			x[i] = 30 * (r.Float32() - 1)
			if r.IntN(9) == 0 {
				x[i] *= 100
			}
		}
		if n > 2 {
			x[n/2] = float32(math.Inf(-1))
		}
		highest, _ := Peak(l, x)
		inverse := 1 / float64(r.Float32()+0.1)
		var want float64
		for _, v := range x {
			want += math.Exp((float64(v) - float64(highest)) * inverse)
		}
		if got := ExpSum(l, x, float64(highest), inverse); math.Abs(got-want) > 1e-11*want {
			t.Fatalf("%d elements: %v, want %v", n, got, want)
		}
	})
}

func BenchmarkRows(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	norm, gain := guarded(r, 1536)[:1536], guarded(r, 1536)[:1536]
	gate, up := guarded(r, 8960)[:8960], guarded(r, 8960)[:8960]
	head, angles := guarded(r, 128)[:128], guarded(r, 128)[:128]
	out := make([]float32, 8960)
	for i := range 64 { // a rotation, or the numbers would leave float32
		angles[i], angles[64+i] = 0.6, 0.8
	}
	logits, ids := guarded(r, 151_936)[:151_936], make([]int32, 151_936)
	halves := make([]uint16, 8960)
	for _, l := range vectorLevels() {
		for name, run := range map[string]func(){
			"norm-1536": func() { RMSNorm(l, norm, gain, out[:1536], 1e-6) },
			"rope-12x128": func() {
				for range 12 {
					Rotate(l, head[:64], head[64:], angles[:64], angles[64:])
				}
			},
			"silu-8960":      func() { SiluMul(l, gate, up, out) },
			"narrow-8960":    func() { Narrow(l, BF16, halves, gate) },
			"peak-151936":    func() { Peak(l, logits) },
			"find-151936":    func() { Find(l, logits, 99) },
			"collect-151936": func() { Collect(l, logits, 3.99, ids) },
			"expsum-151936":  func() { ExpSum(l, logits, 4, 1.25) },
		} {
			b.Run(fmt.Sprintf("%s/%s", name, l), func(b *testing.B) {
				for b.Loop() {
					run()
				}
			})
		}
	}
}
