package gemm

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

// TestProductsStayInside: for any size of tile, number of columns and distance of rows.
func TestProductsStayInside(t *testing.T) {
	kerneltest.Fences(t, func(f *kerneltest.Fenced) {
		for _, l := range simd.Levels() {
			for _, form := range layout.Forms {
				for _, cols := range []int{1, 2, 3, 5, layout.GroupCols, 3 * layout.GroupCols, layout.Q4K.Unit(), 3 * layout.Q4K.Unit()} {
					if cols%form.Unit() != 0 && form != layout.BF16 {
						continue
					}
					for tokens := 1; tokens <= layout.TileTokens(l); tokens++ {
						inside(f, l, form, cols, tokens, layout.PanelRows, false)
						inside(f, l, form, cols, tokens, layout.PanelRows+1, true)
					}
				}
			}
		}
	})
}

func inside(f *kerneltest.Fenced, l simd.Level, form layout.Form, cols, tokens, ldy int, add bool) {
	f.Reset()
	panel, y := f.Bytes(form.PanelBytes(cols)), f.Floats((tokens-1)*ldy+layout.PanelRows)
	Multiply(l, form, panel, cols, f.Floats(cols*tokens), tokens, y, ldy, add, 64)
	if form == layout.BF16 || form == layout.F16 {
		WidenPanel(l, form, f.Bytes(layout.F32.PanelBytes(cols)), panel, cols)
	}
}

func TestPackTileStaysInside(t *testing.T) {
	kerneltest.Fences(t, func(f *kerneltest.Fenced) {
		for _, l := range simd.Levels() {
			for tokens := 1; tokens <= layout.TileTokens(simd.AMX); tokens++ {
				for _, cols := range []int{1, 7, 8, 31, 64, 65} {
					f.Reset()
					PackTile(l, f.Floats(tokens*cols), f.Floats((tokens-1)*(cols+3)+cols), cols+3, tokens, cols)
				}
			}
		}
	})
}
