package figures

import (
	"math"
	"testing"
)

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1 000", 12345: "12 345", 123456: "123 456", 1234567: "1 234 567",
		-7: "-7", -999: "-999", -1000: "-1 000", -123456: "-123 456", math.MaxInt64: "9 223 372 036 854 775 807", math.MinInt64: "-9 223 372 036 854 775 808",
	} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
