package intgemm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/roofline"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

// times are seconds of runs so short that few are interrupted. Their median is that of a
// quiet machine.
type times []float64

func (t *times) since(start time.Time) { *t = append(*t, time.Since(start).Seconds()) }

func (t times) median() float64 {
	slices.Sort(t)
	return t[len(t)/2]
}

// BenchmarkMultiply reports the bytes per second that one processor reads in decode of a
// matrix larger than the caches, and the operations per second of prefill, each as a
// share of the limit measured next to it.
func BenchmarkMultiply(b *testing.B) {
	const cols, groups = 1536, 1536 / layout.GroupCols
	for _, l := range kerneltest.VectorLevels() {
		for _, f := range []layout.Form{layout.Q8, layout.Q4} {
			size := f.PanelBytes(cols)
			matrix := make([]byte, 1<<30/size*size)
			r := rand.New(rand.NewPCG(1, 2))
			for i := range size {
				matrix[i] = byte(r.Uint32())
			}
			for at := size; at < len(matrix); at += size {
				copy(matrix[at:], matrix[:size])
			}
			for _, tokens := range []int{1, 2, 3, 4, 6, 8, 10, 12, 16, 24} {
				b.Run(fmt.Sprintf("%s/%s/cold/%d", l, f, tokens), func(b *testing.B) {
					benchCold(b, l, f, matrix, groups, tokens)
				})
			}
			b.Run(fmt.Sprintf("%s/%s/512", l, f), func(b *testing.B) {
				benchManyTokens(b, l, f, matrix[:512*size], groups)
			})
		}
	}
}

func benchTiles(l simd.Level, groups, tokens int) (tiles [][]byte, sizes []int) {
	x := make([]float32, groups*layout.GroupCols)
	for i := range x {
		x[i] = float32(i%17) - 8
	}
	tiling := layout.NewTiling(tokens, layout.TileTokens(l))
	for i := range tiling.Tiles {
		_, n := tiling.At(i)
		tile := make([]byte, TileBytes(groups, n))
		for t := range n {
			QuantizeRow(l, Quads, x, tile, t, n)
		}
		tiles, sizes = append(tiles, tile), append(sizes, n)
	}
	return tiles, sizes
}

func benchCold(b *testing.B, l simd.Level, f layout.Form, matrix []byte, groups, tokens int) {
	tiles, sizes := benchTiles(l, groups, tokens)
	size := f.PanelBytes(groups * layout.GroupCols)
	y := make([]float32, 12*layout.PanelRows)
	var ours, read times
	at := 0
	const run = 4 << 20
	for b.Loop() {
		// Runs of the matrix use the two in turns.
		if at+2*run+2*size > len(matrix) {
			at = 0
		}
		start := time.Now()
		for range run / size {
			for i, tile := range tiles {
				share := groups / len(tiles) * f.PanelBytes(layout.GroupCols)
				Multiply(l, f, matrix[at:], groups, tile, sizes[i], y, layout.PanelRows, false, Fetch{Ahead: benchAhead(len(tiles), size) + i*share, Every: len(tiles)})
			}
			at += size
		}
		ours.since(start)
		start = time.Now()
		roofline.ReadSum(l, matrix[at:at+run])
		read.since(start)
		at += (run + size - 1) / size * size
	}
	ourRate, readRate := float64(run/size*size)/ours.median(), run/read.median()
	b.ReportMetric(ourRate/1e9, "GB/s")
	b.ReportMetric(100*ourRate/readRate, "%read")
	b.ReportMetric(ourRate/float64(size)*float64(groups*layout.GroupCols*layout.PanelRows*2*tokens)/1e9, "GOP/s")
}

// benchAhead is a distance that hides the latency of memory. If tiles share the prefetch
// of a panel, they prefetch the next one.
func benchAhead(tiles, size int) int {
	if tiles > 1 {
		return size
	}
	return 8 << 10
}

func benchManyTokens(b *testing.B, l simd.Level, f layout.Form, matrix []byte, groups int) {
	const tokens = 192

	tiles, sizes := benchTiles(l, groups, tokens)
	size := f.PanelBytes(groups * layout.GroupCols)
	y := make([]float32, 12*layout.PanelRows)
	var ours, peak times
	ops, peakOps := 0, 0
	next := 0
	for b.Loop() {
		ops = 0
		start := time.Now()
		for range 2 {
			at := next % len(matrix)
			next += 16 * size
			for i, tile := range tiles {
				fetch := Fetch{}
				if i == 0 {
					fetch = Fetch{Ahead: 8 << 10, Every: 1}
				}
				Multiply(l, f, matrix[at:], groups, tile, sizes[i], y, layout.PanelRows, false, fetch)
			}
			ops += 2 * groups * layout.GroupCols * layout.PanelRows * tokens
		}
		ours.since(start)
		start = time.Now()
		peakOps = roofline.IntMultiplyAdds(l, 20000)
		peak.since(start)
	}
	b.ReportMetric(float64(ops)/ours.median()/1e9, "GOP/s")
	b.ReportMetric(100*float64(ops)/ours.median()/(float64(peakOps)/peak.median()), "%peak")
}

// BenchmarkTileGemm reports the operations per second of prefill by tiles, including the
// unpacking of the weights.
func BenchmarkTileGemm(b *testing.B) {
	needTiles(b)
	const groups, columns = 1536 / layout.GroupCols, 24
	for _, tokens := range []int{13, 16, 32, 64, 192} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			each := min(tokens, AMXTokens)
			tiles := tokens / each
			x := make([]byte, TileBytes(groups, tokens))
			row := make([]float32, groups*layout.GroupCols)
			for i := range row {
				row[i] = float32(i%17) - 8
			}
			for i := range tokens {
				QuantizeRow(simd.AMX, Rows, row, x[TileBytes(groups, i/each*each):], i%each, each)
			}
			size := layout.Q8.PanelBytes(groups * layout.GroupCols)
			matrix := make([]byte, 256*size)
			w, y := make([]byte, UnpackedBytes(columns)), make([]float32, tokens*layout.PanelRows)
			var ours times
			ops, at := 0, 0
			for b.Loop() {
				ops = 0
				start := time.Now()
				for range 4 {
					at = (at + size) % (len(matrix) - size)
					for g := 0; g < groups; g += columns {
						panel := matrix[at+layout.Q8.PanelBytes(g*layout.GroupCols):]
						UnpackAMX(layout.Q8, panel, columns, w)
						MultiplyAMX(w, columns, x[TileBytes(g, each):], each, tiles, TileBytes(groups, each), y, layout.PanelRows, g > 0, panel[layout.Q8.PanelBytes(columns*layout.GroupCols):][:layout.Q8.PanelBytes(columns*layout.GroupCols)])
					}
					ops += 2 * groups * layout.GroupCols * layout.PanelRows * tokens
				}
				ours.since(start)
			}
			b.ReportMetric(float64(ops)/ours.median()/1e9, "GOP/s")
			b.ReportMetric(float64(4*size)/ours.median()/1e9, "GB/s")
		})
	}
}
