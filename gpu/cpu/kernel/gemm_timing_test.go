package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/internal/cputime"
)

// Shapes that speed is stated for: a projection of a model of 1.5 billion
// parameters.
const timedRows, timedCols = 8960, 1536

// own runs a function until it has taken some processor time of its own, which
// other processes on the machine do not change much, and tells the time a call
// takes.
func own(f func()) time.Duration {
	calls, start := 0, cputime.Used()
	for {
		f()
		calls++
		if used := cputime.Used() - start; used > 200*time.Millisecond {
			return used / time.Duration(calls)
		}
	}
}

// shareOf runs the two of a ratio in turns and reports the middle one of the
// ratios, work and what it is compared with being done each at a rate per
// second.
func shareOf(b *testing.B, unit string, work, most float64, do, peak func()) {
	do()
	var rates, shares []float64
	for range 7 {
		rate := work / own(do).Seconds()
		rates, shares = append(rates, rate), append(shares, 100*rate/(most/own(peak).Seconds()))
	}
	b.ReportMetric(middle(rates)/1e9, unit)
	b.ReportMetric(middle(shares), "%")
	b.ReportMetric(0, "ns/op")
}

func middle(x []float64) float64 {
	for i := range x {
		for j := i; j > 0 && x[j] < x[j-1]; j-- {
			x[j], x[j-1] = x[j-1], x[j]
		}
	}
	return x[len(x)/2]
}

// timedPanels are the panels of a matrix, all with the same random rows.
func timedPanels(f Form, rows int) []byte {
	encoded, _ := nativeRows(rand.New(rand.NewPCG(1, 1)), f, PanelRows, timedCols)
	panels := make([]byte, Panels(rows)*f.PanelBytes(timedCols))
	size := f.PanelBytes(timedCols)
	Pack(f, panels, timedCols, encoded)
	for i := size; i < len(panels); i += size {
		copy(panels[i:], panels[:size])
	}
	return panels
}

// One token: weights come from memory, more of them than any cache holds, and
// are compared with reading them.
func BenchmarkGemv(b *testing.B) {
	for _, l := range Levels() {
		for _, f := range allForms {
			b.Run(fmt.Sprintf("%s/%s", l, f), func(b *testing.B) {
				size := f.PanelBytes(timedCols)
				panels := timedPanels(f, (1200<<20)/size*PanelRows)
				x, y := normal(rand.New(rand.NewPCG(1, 1)), timedCols), make([]float32, PanelRows)
				shareOf(b, "GB/s", float64(len(panels)), float64(len(panels)), func() {
					for i := 0; i < len(panels); i += size {
						Gemm(l, f, panels[i:i+size], timedCols, x, 1, y, 0, false, 8192)
					}
				}, func() { ReadSum(Best(), panels[:len(panels)&^511]) })
			})
		}
	}
}

// Tokens in blocks of 192 and columns in blocks that stay in the first cache,
// packing included, compared with multiplying and adding.
func BenchmarkGemm(b *testing.B) {
	for _, l := range Levels() {
		for _, f := range allForms {
			for _, tokens := range []int{4, 16, 64, 512} {
				b.Run(fmt.Sprintf("%s/%s/tokens-%d", l, f, tokens), func(b *testing.B) {
					rows := timedRows
					if l == Portable {
						rows /= 14
					}
					panels := timedPanels(f, rows)
					r := rand.New(rand.NewPCG(1, 1))
					x, packed, y := normal(r, tokens*timedCols), make([]float32, tokens*timedCols), make([]float32, tokens*rows)
					shareOf(b, "GFLOP/s", 2*float64(tokens*rows*timedCols), float64(MultiplyAdds(l, 1<<20)),
						func() { timedGemm(l, f, panels, rows, x, packed, tokens, y) },
						func() { MultiplyAdds(l, 1<<20) })
				})
			}
		}
	}
}

func timedGemm(l Level, f Form, panels []byte, rows int, x, packed []float32, tokens int, y []float32) {
	size, cols := f.PanelBytes(timedCols), timedCols
	tiles := NewTiling(tokens, l.TileTokens())
	for i := range tiles.Tiles {
		t, n := tiles.At(i)
		PackTile(l, packed[t*cols:], x[t*cols:], cols, n, cols)
	}
	columns, run := 32<<10/f.PanelBytes(32)*32, 192/l.TileTokens()
	for lo := 0; lo < tiles.Tiles; lo += run {
		for p := range Panels(rows) {
			for from := 0; from < cols; from += columns {
				w, c := panels[p*size+f.PanelBytes(from):(p+1)*size], min(columns, cols-from)
				for i, ahead := lo, 8192; i < min(lo+run, tiles.Tiles); i, ahead = i+1, 0 {
					t, n := tiles.At(i)
					Gemm(l, f, w, c, packed[t*cols+from*n:], n, y[t*rows+32*p:], rows, from > 0, ahead)
				}
			}
		}
	}
}

func BenchmarkPack(b *testing.B) {
	for _, f := range allForms {
		b.Run(f.String(), func(b *testing.B) {
			encoded, _ := nativeRows(rand.New(rand.NewPCG(1, 1)), f, PanelRows, timedCols)
			panel := make([]byte, f.PanelBytes(timedCols))
			b.SetBytes(int64(len(panel)))
			for b.Loop() {
				Pack(f, panel, timedCols, encoded)
			}
		})
	}
}

func BenchmarkPackTile(b *testing.B) {
	for _, tokens := range []int{2, 6, 12} {
		b.Run(fmt.Sprintf("tokens-%d", tokens), func(b *testing.B) {
			x, packed := make([]float32, tokens*timedCols), make([]float32, tokens*timedCols)
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				PackTile(Best(), packed, x, timedCols, tokens, timedCols)
			}
		})
	}
}
