package kernel

import (
	"slices"
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

func TestReadSumReadsAll(t *testing.T) {
	b := make([]byte, 2048)
	for _, l := range Levels() {
		empty := ReadSum(l, b)
		for i := 3; i < len(b); i += 4 {
			b[i] = 0x3f // a float32 of 0.5 and more
			if l == Portable && ReadSum(l, b) == empty {
				t.Fatalf("%s: byte %d does not count", l, i)
			}
			b[i] = 0
		}
		if got := ReadSum(l, nil); got != 0 {
			t.Errorf("%s: %v of nothing", l, got)
		}
	}
	Pause(0)
	Pause(3)
}

func TestPanelBytes(t *testing.T) {
	for _, tt := range []struct {
		form Form
		cols int
		want int
	}{
		{F32, 3, 384}, {BF16, 3, 256}, {BF16, 4, 256}, {F16, 3, 192}, {Q8, 64, 2 * 32 * 34}, {Q4, 64, 2 * 32 * 18},
		{Q41, 64, 2 * 32 * 20}, {Q4K, 512, 2 * 32 * 148}, {Q6K, 512, 2 * 32 * 210},
	} {
		if got := tt.form.PanelBytes(tt.cols); got != tt.want || got%64 != 0 {
			t.Errorf("%s of %d columns: %d bytes, want %d", tt.form, tt.cols, got, tt.want)
		}
	}
	if Panels(0) != 0 || Panels(1) != 1 || Panels(32) != 1 || Panels(33) != 2 {
		t.Error("panels")
	}
	for f, cols := range map[Form]int{Q8: 33, Q41: 33, Q4K: 128, Q6K: 288} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d columns have no whole groups of %s", cols, f)
				}
			}()
			f.PanelBytes(cols)
		}()
	}
}

// vectorLevels are the levels that differ in kernels of vectors: AMX adds
// TileGemm alone.
func vectorLevels() []Level {
	return slices.DeleteFunc(Levels(), func(l Level) bool { return l == AMX })
}
