package gpu

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A 16-bit float survives widening and rounding, whichever it is.
func TestHalfFloatsRoundTrip(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		if f := FromF16(h); f != f {
			if g := FromF16(ToF16(f)); g == g {
				t.Fatalf("f16 %04x: NaN became %v", h, g)
			}
		} else if got := ToF16(f); got != h {
			t.Fatalf("f16 %04x -> %v -> %04x", h, f, got)
		}
		if f := FromBF16(h); f != f {
			if g := FromBF16(ToBF16(f)); g == g {
				t.Fatalf("bf16 %04x: NaN became %v", h, g)
			}
		} else if got := ToBF16(f); got != h {
			t.Fatalf("bf16 %04x -> %v -> %04x", h, f, got)
		}
	}
}

// nearest finds the nearest 16-bit float by comparing with both neighbours;
// between two equally near ones the even mantissa wins.
func nearest(f float32, guess uint16, from func(uint16) float32) uint16 {
	best, dist := guess, math.Inf(1)
	for _, c := range []uint16{guess - 1, guess, guess + 1} {
		v := from(c)
		if v != v || math.Signbit(float64(v)) != math.Signbit(float64(f)) || math.IsInf(float64(v), 0) {
			continue
		}
		d := math.Abs(float64(v) - float64(f))
		if d < dist || d == dist && c&1 == 0 {
			best, dist = c, d
		}
	}
	return best
}

func TestHalfFloatsRoundToNearestEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Half of the cases lie exactly between two neighbours.
		h := uint16(rapid.IntRange(0, 0x7bfe).Draw(t, "h"))
		f := FromF16(h)
		if rapid.Bool().Draw(t, "tie") {
			f = (f + FromF16(h+1)) / 2
		} else {
			f += (FromF16(h+1) - f) * rapid.Float32Range(0, 1).Draw(t, "part")
		}
		if got, want := ToF16(f), nearest(f, h, FromF16); got != want {
			t.Fatalf("ToF16(%v) = %04x, want %04x", f, got, want)
		}
		b := uint16(rapid.IntRange(0, 0x7f7e).Draw(t, "b"))
		g := math.Float32frombits(uint32(b)<<16 | uint32(rapid.Uint16().Draw(t, "low")))
		if rapid.Bool().Draw(t, "tie16") {
			g = math.Float32frombits(uint32(b)<<16 | 0x8000)
		}
		if got, want := ToBF16(g), nearest(g, b, FromBF16); got != want {
			t.Fatalf("ToBF16(%v) = %04x, want %04x", g, got, want)
		}
	})
	for f, want := range map[float32]uint16{65519: 0x7bff, 65520: 0x7c00, -1e9: 0xfc00, 1e-9: 0} {
		if got := ToF16(f); got != want {
			t.Errorf("ToF16(%v) = %04x, want %04x", f, got, want)
		}
	}
}
