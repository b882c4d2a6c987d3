package main

import (
	"strings"
	"testing"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1b": 1, "80GiB": 80 << 30, "80 gib": 80 << 30, "1.5KiB": 1536, "2TB": 2e12, " 24GB ": 24e9, "16777216": 1 << 24,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "-1GiB", "0", "NaN", "Inf", "1e40", "80 GigaBytes", "0x10", "80GiBB", "9223372036854775807"} {
		if got, err := parseBytes(text); err == nil || !strings.Contains(err.Error(), "80GiB") {
			t.Errorf("%q is %d, %v; want an error with an example", text, got, err)
		}
	}
}
