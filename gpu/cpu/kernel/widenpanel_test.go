package kernel

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// A widened panel is the panel of the same numbers as float32, and nothing is
// written behind it.
func TestWidenPanel(t *testing.T) {
	for _, l := range Levels() {
		for _, f := range []Form{BF16, F16} {
			for _, cols := range append(colsOf(f), 0) {
				t.Run(fmt.Sprint(l, f, cols), func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, uint64(cols)))
					rows, values := nativeRows(r, f, PanelRows, cols)
					narrow := make([]byte, f.PanelBytes(cols))
					Pack(f, narrow, cols, rows)
					want := make([]byte, F32.PanelBytes(cols)+64)
					for row := range PanelRows {
						for c := range cols {
							floats(want)[c*PanelRows+row] = float32(values[row][c])
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
