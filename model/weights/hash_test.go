package weights

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestHashSeesEverything(t *testing.T) {
	big := make([]byte, 4<<20)
	of := func(sampled bool, items ...item) string {
		s, err := Open(fstest.MapFS{SingleFile: {Data: build(items...)}})
		if err != nil {
			t.Fatal(err)
		}
		h, err := hashTensors(t.Context(), s.(*files), sampled)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	seen := map[string]string{}
	try := func(what string, sampled bool, items ...item) {
		h := of(sampled, items...)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same hash", what, other)
		}
		seen[h] = what
	}
	for _, sampled := range []bool{false, true} {
		try("plain", sampled, item{"x", "F32", []int{1 << 20}, big})
		try("other name", sampled, item{"y", "F32", []int{1 << 20}, big})
		try("other type", sampled, item{"x", "F16", []int{1 << 21}, big})
		try("other shape", sampled, item{"x", "F32", []int{1 << 10, 1 << 10}, big})
		for _, at := range []int{0, len(big) - 1} {
			changed := slices.Clone(big)
			changed[at] ^= 1
			try("changed data", sampled, item{"x", "F32", []int{1 << 20}, changed})
		}
	}
	changed := slices.Clone(big)
	changed[sampleBlock+1] ^= 1
	try("changed between samples, read whole", false, item{"x", "F32", []int{1 << 20}, changed})
}
