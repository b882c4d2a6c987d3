package gemm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

// A widened panel is the panel of the same numbers as float32, and nothing is
// written after it.
func TestWidenPanel(t *testing.T) {
	for _, l := range simd.Levels() {
		for _, f := range []layout.Form{layout.BF16, layout.F16} {
			for _, cols := range append(kerneltest.ColumnsOf(f), 0) {
				t.Run(fmt.Sprint(l, f, cols), func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, uint64(cols)))
					rows, values := kerneltest.NativeRows(r, f, layout.PanelRows, cols)
					narrow := make([]byte, f.PanelBytes(cols))
					layout.Pack(f, narrow, cols, rows)
					want := make([]byte, layout.F32.PanelBytes(cols)+64)
					for row := range layout.PanelRows {
						for c := range cols {
							layout.Floats(want)[c*layout.PanelRows+row] = float32(values[row][c])
						}
					}
					got := make([]byte, len(want))
					for i := range 64 {
						got[len(got)-1-i], want[len(want)-1-i] = 0xa5, 0xa5
					}
					WidenPanel(l, f, got, narrow, cols)
					if !bytes.Equal(got, want) {
						t.Error("the widened panel differs")
					}
				})
			}
		}
	}
}
