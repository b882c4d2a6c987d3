package cpu

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu"
)

func vector(t *rapid.T, n int, name string) []float32 {
	return rapid.SliceOfN(rapid.Float32Range(-4, 4), n, n).Draw(t, name)
}

func TestDotOfFourRowsIsFourDots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "n")
		x := vector(t, n, "x")
		w := [4][]float32{vector(t, n, "a"), vector(t, n, "b"), vector(t, n, "c"), vector(t, n, "d")}
		var got [4]float32
		got[0], got[1], got[2], got[3] = dot4(w[0], w[1], w[2], w[3], x)
		for i := range w {
			if one := dot(w[i], x); got[i] != one {
				t.Fatalf("row %d of %d: dot4 %v, dot %v", i, n, got[i], one)
			}
			var want, size float64
			for j := range x {
				want += float64(w[i][j]) * float64(x[j])
				size += math.Abs(float64(w[i][j]) * float64(x[j]))
			}
			if math.Abs(float64(got[i])-want) > 1e-5*size+1e-37 {
				t.Fatalf("row %d of %d: %v, want %v", i, n, got[i], want)
			}
		}
	})
}

func TestDotOfBF16IsDotOfTheWidened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "n")
		x := vector(t, n, "x")
		var narrowed [4][]uint16
		var w [4][]float32
		for i := range w {
			narrowed[i], w[i] = make([]uint16, n), make([]float32, n)
			narrow(gpu.BF16, narrowed[i], vector(t, n, "w"))
			widen(gpu.BF16, w[i], narrowed[i])
		}
		var got, want [4]float32
		got[0], got[1], got[2], got[3] = dot4BF16(narrowed[0], narrowed[1], narrowed[2], narrowed[3], x)
		want[0], want[1], want[2], want[3] = dot4(w[0], w[1], w[2], w[3], x)
		if got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestAxpyOfFourIsFourAxpys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		out, p := vector(t, n, "out"), vector(t, 4, "p")
		v := [4][]float32{vector(t, n, "a"), vector(t, n, "b"), vector(t, n, "c"), vector(t, n, "d")}
		one := append([]float32(nil), out...)
		axpy4(out, p[0], p[1], p[2], p[3], v[0], v[1], v[2], v[3])
		for i := range v {
			axpy(one, p[i], v[i])
		}
		for i := range out {
			if out[i] != one[i] {
				t.Fatalf("element %d of %d: %v, one by one %v", i, n, out[i], one[i])
			}
		}
	})
}

func TestExpIsCloseAndHasEnds(t *testing.T) {
	worst := 0.0
	for x := float32(-86.99); x < 88; x += 0.00137 {
		want := math.Exp(float64(x))
		worst = max(worst, math.Abs(float64(expf(x))-want)/want)
	}
	if worst > 2.5e-7 {
		t.Errorf("largest relative error is %.3g", worst)
	}
	inf := float32(math.Inf(1))
	for x, want := range map[float32]float32{0: 1, -inf: 0, -200: 0, 200: inf, inf: inf} {
		if got := expf(x); got != want {
			t.Errorf("expf(%v) = %v, want %v", x, got, want)
		}
	}
	if nan := expf(inf - inf); nan == nan {
		t.Errorf("expf(NaN) = %v", nan)
	}
}

func TestWidenAndNarrowAgreeWithGPU(t *testing.T) {
	for _, d := range []gpu.DType{gpu.F16, gpu.BF16} {
		in, out, back := make([]uint16, 1<<16), make([]float32, 1<<16), make([]uint16, 1<<16)
		for i := range in {
			in[i] = uint16(i)
		}
		widen(d, out, in)
		narrow(d, back, out)
		for i, h := range in {
			want := gpu.FromF16(h)
			if d == gpu.BF16 {
				want = gpu.FromBF16(h)
			}
			if math.Float32bits(out[i]) != math.Float32bits(want) && (out[i] == out[i] || want == want) {
				t.Fatalf("%s %04x widens to %v, want %v", d, h, out[i], want)
			}
			if want == want && back[i] != h {
				t.Fatalf("%s %04x comes back as %04x", d, h, back[i])
			}
		}
	}
}
