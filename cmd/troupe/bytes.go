package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteUnits are the units of an amount of memory, longest first.
var byteUnits = []struct {
	name  string
	bytes float64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// parseBytes reads an amount of memory: a number, with or without a unit.
func parseBytes(text string) (int64, error) {
	number, unit := strings.TrimSpace(text), 1.0
	for _, u := range byteUnits {
		if rest, ok := cutSuffixFold(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	bytes := v * unit
	if err != nil || !(bytes >= 1) || bytes >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is no amount of memory; write for example 80GiB, 512MiB or 24000000000", text)
	}
	return int64(bytes), nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if at := len(s) - len(suffix); at >= 0 && strings.EqualFold(s[at:], suffix) {
		return s[:at], true
	}
	return s, false
}
