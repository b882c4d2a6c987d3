package units

import (
	"math"
	"strings"
	"testing"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1b": 1, "80GiB": 80 << 30, "80 gib": 80 << 30, "1.5KiB": 1536, "2TB": 2e12, " 24GB ": 24e9, "16777216": 1 << 24,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "-1GiB", "0", "NaN", "Inf", "1e40", "80 GigaBytes", "0x10", "80GiBB", "9223372036854775807"} {
		if got, err := ParseBytes(text); err == nil || !strings.Contains(err.Error(), "80GiB") {
			t.Errorf("%q is %d, %v; want an error with an example", text, got, err)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 105<<20 + 1<<19: "105.5 MiB",
		1 << 30: "1.00 GiB", 80 << 30: "80.00 GiB", math.MaxInt64: "8388608.00 TiB", -5000: "-5000 bytes",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 pages", 1: "1 page", 2: "2 pages"} {
		if got := Count(n, "page"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

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
