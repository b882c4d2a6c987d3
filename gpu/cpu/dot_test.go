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
