package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPackedRowsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, f := range allForms {
		for _, cols := range colsOf(f) {
			for _, rows := range []int{32, 31, 1, 0} {
				encoded, values := nativeRows(r, f, rows, cols)
				panel := make([]byte, f.PanelBytes(cols))
				for i := range panel {
					panel[i] = 0xff
				}
				Pack(f, panel, cols, encoded)
				out := make([]float32, cols)
				for i := range PanelRows {
					Row(f, panel, cols, i, out)
					for c, x := range out {
						want := 0.0
						if i < rows {
							want = values[i][c]
						}
						if float64(x) != want {
							t.Fatalf("%s, %d rows of %d columns: row %d, column %d is %v, want %v", f, rows, cols, i, c, x, want)
						}
					}
				}
			}
		}
	}
}

func TestFromF16(t *testing.T) {
	for _, tt := range []struct {
		h    uint16
		want float64
	}{
		{0x3c00, 1}, {0xc000, -2}, {0x7bff, 65504}, {0x0001, 0x1p-24}, {0x83ff, -1023 * 0x1p-24}, {0x0400, 0x1p-14},
		{0x7c00, math.Inf(1)}, {0xfc00, math.Inf(-1)}, {0, 0},
	} {
		if got := float64(fromF16(tt.h)); got != tt.want {
			t.Errorf("%04x is %v, want %v", tt.h, got, tt.want)
		}
	}
	if nan := fromF16(0x7e01); nan == nan {
		t.Errorf("7e01 is %v", nan)
	}
	if zero := fromF16(0x8000); zero != 0 || !math.Signbit(float64(zero)) {
		t.Errorf("8000 is %v", zero)
	}
}
