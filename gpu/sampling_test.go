package gpu

import (
	"math"
	"testing"
)

// The known answers are those published with Random123 for philox4x32-10.
func TestPhiloxKnownAnswers(t *testing.T) {
	cases := []struct {
		k0, k1 uint32
		ctr    [4]uint32
		want   [4]uint32
	}{
		{0, 0, [4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{0xffffffff, 0xffffffff, [4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{0xa4093822, 0x299f31d0, [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	}
	for _, c := range cases {
		if got := philox(c.k0, c.k1, c.ctr); got != c.want {
			t.Errorf("philox(%x,%x,%x) = %x, want %x", c.k0, c.k1, c.ctr, got, c.want)
		}
	}
}

func TestUniformIsUniformAndIndependentOfOrder(t *testing.T) {
	const n = 1 << 16
	var bins [16]int
	for p := range n {
		u := Uniform(42, 0, p)
		if u < 0 || u >= 1 {
			t.Fatalf("Uniform = %v", u)
		}
		bins[int(u*16)]++
	}
	for b, c := range bins {
		// Six standard deviations of a binomial with p = 1/16.
		if math.Abs(float64(c)-n/16) > 6*math.Sqrt(n/16.0*15/16) {
			t.Errorf("bin %d has %d of %d", b, c, n)
		}
	}
	if Uniform(42, 0, 7) == Uniform(42, 1, 7) || Uniform(42, 0, 7) == Uniform(43, 0, 7) {
		t.Error("choice and seed must change the number")
	}
}
