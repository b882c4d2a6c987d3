package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// BenchmarkPackingChecked packs matrices of the types that are kept as they are
// stored, with and without the check for numbers that are not finite, panel by panel in
// turns: "check-%" is the median of what the check adds. MB/s are of stored bytes.
func BenchmarkPackingChecked(b *testing.B) {
	const rows, cols = 8960, 1536
	for _, d := range []gpu.DType{gpu.F32, gpu.F16, gpu.BF16, gpu.Q8_0, gpu.Q4_0, gpu.Q4_1, gpu.Q4_K, gpu.Q6_K} {
		b.Run(d.String(), func(b *testing.B) {
			size := d.Bytes(cols)
			t := gpu.Tensor{DType: d, Shape: []int{rows, cols}, Data: make([]byte, rows*size)} // more than the caches hold
			if random := rand.New(rand.NewPCG(1, 2)); d.Quantised() {
				quant.Random(d, t.Data, 0.02, random.Uint64)
			} else {
				for i := range t.Data {
					t.Data[i] = byte(random.Uint32()) & 0x3f
				}
			}
			form := forms[d]
			panels := make([]byte, layout.Panels(rows)*form.PanelBytes(cols))
			var lines [layout.PanelRows][]byte
			pack := func(panel int, check bool) time.Duration {
				start := time.Now()
				for r := range lines {
					row := panel*layout.PanelRows + r
					lines[r] = t.Data[row*size : (row+1)*size]
				}
				layout.Pack(form, panels[panel*form.PanelBytes(cols):], cols, lines[:])
				for r, line := range lines {
					if !check {
						break
					}
					if err := quant.CheckRow(nil, t, panel*layout.PanelRows+r, d, line); err != nil {
						b.Fatal(err)
					}
				}
				return time.Since(start)
			}
			b.SetBytes(int64(len(t.Data)))
			var added []float64
			turn := 0
			for b.Loop() {
				var took [2][]float64
				for panel := range rows / layout.PanelRows {
					checked := (panel + turn) % 2
					took[checked] = append(took[checked], float64(pack(panel, checked == 1)))
				}
				turn++
				slices.Sort(took[0])
				slices.Sort(took[1])
				plain, checked := took[0][len(took[0])/2], took[1][len(took[1])/2]
				added = append(added, 100*(checked-plain)/plain)
			}
			slices.Sort(added)
			b.ReportMetric(added[len(added)/2], "check-%")
		})
	}
}
