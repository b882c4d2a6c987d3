package simd

import (
	"strings"
	"testing"
)

func TestLevels(t *testing.T) {
	have := Levels()
	if len(have) == 0 || have[0] != Portable || have[len(have)-1] != Best() {
		t.Fatalf("levels %v, the best is %v", have, Best())
	}
	for _, l := range []Level{Portable, AVX2, AVX512, AMX} {
		got, err := ParseLevel(l.String())
		if l.Supported() && (err != nil || got != l) || !l.Supported() && err == nil {
			t.Errorf("%s: %v, %v", l, got, err)
		}
	}
	if got, err := ParseLevel("auto"); err != nil || got != Best() {
		t.Errorf("auto: %v, %v", got, err)
	}
	if _, err := ParseLevel("sse9"); err == nil || !strings.Contains(err.Error(), "auto, portable, avx2, avx512, amx") {
		t.Errorf("sse9: %v", err)
	}
}

// The hints change nothing and accept any length.
func TestHints(t *testing.T) {
	Pause(0)
	Pause(3)
	Prefetch(nil, 64)
	Prefetch(make([]byte, 100), 64)
}
