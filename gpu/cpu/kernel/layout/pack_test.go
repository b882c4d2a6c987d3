package layout_test

import (
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

func TestPackedRowsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, f := range layout.Forms {
		for _, cols := range kerneltest.ColumnsOf(f) {
			for _, rows := range []int{32, 31, 1, 0} {
				encoded, values := kerneltest.NativeRows(r, f, rows, cols)
				panel := make([]byte, f.PanelBytes(cols))
				for i := range panel {
					panel[i] = 0xff
				}
				layout.Pack(f, panel, cols, encoded)
				out := make([]float32, cols)
				for i := range layout.PanelRows {
					layout.Row(f, panel, cols, i, out)
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
