// Package units formats amounts for people, and parses them from flags.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteUnits are the units of an amount of memory, longest name first.
var byteUnits = []struct {
	name  string
	bytes float64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// ParseBytes reads an amount of memory: a number, with or without a unit.
func ParseBytes(text string) (int64, error) {
	number, unit := strings.TrimSpace(text), 1.0
	for _, u := range byteUnits {
		if at := len(number) - len(u.name); at >= 0 && strings.EqualFold(number[at:], u.name) {
			number, unit = strings.TrimSpace(number[:at]), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	bytes := v * unit
	if err != nil || !(bytes >= 1) || bytes >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not an amount of memory; use for example 80GiB, 512MiB or 24000000000", text)
	}
	return int64(bytes), nil
}

// Bytes writes an amount of memory in the largest unit that it fills.
func Bytes(n int64) string {
	for _, u := range byteUnits[:4] {
		switch size := float64(n) / u.bytes; {
		case size < 1:
		case u.bytes >= 1<<30:
			return fmt.Sprintf("%.2f %s", size, u.name)
		default:
			return fmt.Sprintf("%.1f %s", size, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Count writes a number of things, whose name takes an s in the plural.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Grouped writes a count with spaces between thousands.
func Grouped[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
