package roofline

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

func TestReadSumReadsAll(t *testing.T) {
	b := make([]byte, 2048)
	for _, l := range simd.Levels() {
		empty := ReadSum(l, b)
		for i := 3; i < len(b); i += 4 {
			b[i] = 0x3f // a float32 of 0.5 and more
			if l == simd.Portable && ReadSum(l, b) == empty {
				t.Fatalf("%s: byte %d does not change the sum", l, i)
			}
			b[i] = 0
		}
		if got := ReadSum(l, nil); got != 0 {
			t.Errorf("%s: %v of nothing", l, got)
		}
	}
}
