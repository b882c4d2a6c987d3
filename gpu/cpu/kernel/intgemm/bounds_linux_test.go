package intgemm

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

func TestTilesStayInside(t *testing.T) {
	needTiles(t)
	kerneltest.Fences(t, func(f *kerneltest.Fenced) {
		for _, form := range []layout.Form{layout.Q8, layout.Q4} {
			for groups := 1; groups < 6; groups++ {
				f.Reset()
				UnpackAMX(form, f.Bytes(form.PanelBytes(groups*layout.GroupCols)), groups, f.Bytes(UnpackedBytes(groups)))
				for tokens := AMXMinTokens; tokens <= AMXTokens; tokens++ {
					for tiles := 1; tiles < 4; tiles++ {
						f.Reset()
						each, ldy := TileBytes(groups, tokens), layout.PanelRows+tiles%2
						MultiplyAMX(f.Bytes(UnpackedBytes(groups)), groups, f.Bytes((tiles-1)*(each+8)+each), tokens, tiles, each+8,
							f.Floats((tiles*tokens-1)*ldy+layout.PanelRows), ldy, groups%2 == 0, f.Bytes(200))
					}
				}
			}
		}
	})
}

func TestActivationsStayInside(t *testing.T) {
	kerneltest.Fences(t, func(f *kerneltest.Fenced) {
		for _, l := range simd.Levels() {
			for tokens := 1; tokens <= AMXTokens; tokens++ {
				for groups := 1; groups < 4; groups++ {
					for _, order := range []Order{Quads, Rows} {
						f.Reset()
						x, tile := f.Floats(groups*layout.GroupCols), f.Bytes(TileBytes(groups, tokens))
						for token := range tokens {
							QuantizeRow(l, order, x, tile, token, tokens)
						}
					}
				}
			}
		}
	})
}

// TestProductsStayInside: for any size of tile, number of columns and distance of rows.
func TestProductsStayInside(t *testing.T) {
	kerneltest.Fences(t, func(f *kerneltest.Fenced) {
		for _, l := range simd.Levels() {
			for _, form := range layout.Forms {
				for _, groups := range []int{1, 3, 8, 24} {
					if !form.Integer() || groups*layout.GroupCols%form.Unit() != 0 {
						continue
					}
					for tokens := 1; tokens <= layout.TileTokens(l); tokens++ {
						for _, ldy := range []int{layout.PanelRows, layout.PanelRows + 1} {
							f.Reset()
							panel, y := f.Bytes(form.PanelBytes(groups*layout.GroupCols)), f.Floats((tokens-1)*ldy+layout.PanelRows)
							Multiply(l, form, panel, groups, f.Bytes(TileBytes(groups, tokens)), tokens, y, ldy, ldy > layout.PanelRows, Fetch{Ahead: 64, Every: 1})
						}
					}
				}
			}
		}
	})
}
