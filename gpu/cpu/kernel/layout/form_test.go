package layout_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
)

func TestPanelBytes(t *testing.T) {
	for _, tt := range []struct {
		form layout.Form
		cols int
		want int
	}{
		{layout.F32, 3, 384}, {layout.BF16, 3, 256}, {layout.BF16, 4, 256}, {layout.F16, 3, 192}, {layout.Q8, 64, 2 * 32 * 34}, {layout.Q4, 64, 2 * 32 * 18},
		{layout.Q41, 64, 2 * 32 * 20}, {layout.Q4K, 512, 2 * 32 * 148}, {layout.Q6K, 512, 2 * 32 * 210},
	} {
		if got := tt.form.PanelBytes(tt.cols); got != tt.want || got%64 != 0 {
			t.Errorf("%s of %d columns: %d bytes, want %d", tt.form, tt.cols, got, tt.want)
		}
	}
	if layout.Panels(0) != 0 || layout.Panels(1) != 1 || layout.Panels(32) != 1 || layout.Panels(33) != 2 {
		t.Error("panels")
	}
	for f, cols := range map[layout.Form]int{layout.Q8: 33, layout.Q41: 33, layout.Q4K: 128, layout.Q6K: 288} {
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
