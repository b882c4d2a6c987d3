// Package attn computes attention over blocks of the KV cache.
//
// Keys are stored with 16 positions side by side, values with their dimensions
// side by side. A score is summed over dimensions in one lane and an output over
// positions, both in order. All queries of a group share the loaded keys and values.
// Masked positions have their own lanes, so their contents do not matter.
package attn

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/expf"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// KV is the type of the elements of keys and values.
type KV uint8

// The types. The scales of I8 are arguments of Softmax.
const (
	F32 KV = iota
	BF16
	F16
	I8
)

var elementBytes = [...]int{F32: 4, BF16: 2, F16: 2, I8: 1}

// Positions are processed in blocks of 64, counted from the start of the sequence. Each
// 16 of them are two runs of memory: keys as [dimension][16], values as [16][dimension].
// After the last position a run may hold anything, even NaN.
const (
	RunSlots   = 16
	BlockSlots = 64
	blockRuns  = BlockSlots / RunSlots
)

// Run has offsets in bytes from a base: of a run, and of the one to prefetch meanwhile.
type Run struct{ At, Ahead int }

// Runs are the runs of a block. Entries that a block does not need repeat another.
type Runs [blockRuns]Run

// AccWidth is the length of a row of accumulators: head_dim rounded up to whole
// vectors of every level. Values may also be read up to that length.
func AccWidth(dim int) int { return (dim + 31) &^ 31 }

// queriesAtOnce is how many rows share a load of keys or values.
var queriesAtOnce = [...]int{simd.Portable: 1, simd.AVX2: 7, simd.AVX512: 12, simd.AMX: 12}

// QueryTile is the number of queries best passed to Scores and Values at a time
// when queries see different positions. It divides 12.
func QueryTile(l simd.Level) int {
	return [...]int{simd.Portable: 1, simd.AVX2: 6, simd.AVX512: 12, simd.AMX: 12}[l]
}

// rowsAtOnce divides rows into parts of nearly equal size and returns that size.
func rowsAtOnce(l simd.Level, rows int) int {
	parts := (rows + queriesAtOnce[l] - 1) / queriesAtOnce[l]
	return (rows + parts - 1) / parts
}

// Scores is out[r][i] = q[r] . key i for rows of q, ldq elements apart, and the
// positions of the first runs of a block. Rows of out are BlockSlots apart. A
// score is summed over dimensions in order. Portable takes F32 only.
func Scores(l simd.Level, t KV, q []float32, ldq, rows int, base *byte, runs *Runs, count, dim int, out []float32) {
	if rows < 1 || count < 1 || count > blockRuns || dim < 1 || len(q) < (rows-1)*ldq+dim || len(out) < rows*BlockSlots {
		panic(fmt.Sprintf("attn: scores of %d rows of %d, %d runs: %d elements of q, %d of out", rows, dim, count, len(q), len(out)))
	}
	if l >= simd.AVX512 {
		count = (count + 1) &^ 1 // it takes two at a time
	}
	for n := rowsAtOnce(l, rows); rows > 0; rows -= n {
		n = min(n, rows)
		if l == simd.Portable {
			scoresPortable(t, q[:dim], base, runs[:count], out)
		} else {
			scoresAVX(l, int(t), &q[0], 4*ldq, n, base, &runs[0].At, count, dim, &out[0])
		}
		if rows > n {
			q, out = q[n*ldq:], out[n*BlockSlots:]
		}
	}
}

// Values adds to acc[r] the sum over n positions of p[r][i] value i, in order
// of positions, starting with position from of the block, whose weight is
// p[r][from]. Rows of p are BlockSlots apart, rows of acc AccWidth(dim), values
// dim elements. Portable takes F32 only.
func Values(l simd.Level, t KV, p []float32, rows int, base *byte, runs *Runs, from, n, dim int, acc []float32) {
	width := AccWidth(dim)
	if rows < 1 || from < 0 || n < 1 || from+n > BlockSlots || dim < 1 || len(p) < rows*BlockSlots || len(acc) < rows*width {
		panic(fmt.Sprintf("attn: values of %d rows of %d, positions %d to %d: %d weights, %d sums", rows, dim, from, from+n, len(p), len(acc)))
	}
	run, skip, size := &runs[from/RunSlots].At, from%RunSlots, elementBytes[t]
	group := 16 // dimensions of two vectors
	if l >= simd.AVX512 {
		group = 32
	}
	for k := rowsAtOnce(l, rows); rows > 0; rows -= k {
		k = min(k, rows)
		if l == simd.Portable {
			valuesPortable(t, p, base, runs, from, n, acc[:dim])
		} else {
			valuesAVX(l, int(t), &p[from], k, base, run, skip, n, (dim+group-1)/group, group*size, size*dim, &acc[0], 4*width)
		}
		if rows > k {
			p, acc = p[k*BlockSlots:], acc[k*width:]
		}
	}
}

// Weights is the softmax state of rows of queries over the blocks so far.
type Weights struct {
	Max  []float32 // row maximum of the scores; NoScore before the first block
	Sums []float32 // denominators: sums of e^(score - maximum)
	// Rescale is the factor for a row's older accumulators after a block.
	Rescale []float32
}

// Softmax turns rows of scores of a block, BlockSlots apart, into weights
// e^(score*scale - maximum) and updates the state. In row r the first seen[r]
// positions count, at least one; the others are masked and their weights are
// undefined. For I8, scores are multiplied by keyScales, and weights, but not the
// denominator, by valueScales, each of BlockSlots elements; nil otherwise.
func Softmax(l simd.Level, s []float32, seen []int32, scale float32, keyScales, valueScales []float32, w Weights) {
	rows := len(seen)
	if len(s) < rows*BlockSlots || keyScales != nil && (len(keyScales) < BlockSlots || len(valueScales) < BlockSlots) {
		panic(fmt.Sprintf("attn: softmax of %d rows: %d scores, %d scales", rows, len(s), len(keyScales)))
	}
	w.Max, w.Sums, w.Rescale = w.Max[:rows], w.Sums[:rows], w.Rescale[:rows]
	if rows == 0 {
		return
	}
	if l == simd.Portable {
		softmaxPortable(s, seen, scale, keyScales, valueScales, w)
		return
	}
	keys, values := unsafe.SliceData(keyScales), unsafe.SliceData(valueScales)
	softmaxAVX(l, &s[0], rows, &seen[0], scale, keys, values, &w.Max[0], &w.Sums[0], &w.Rescale[0])
}

// ScaleAdd is x = x a + y b; both have the length of x.
func ScaleAdd(l simd.Level, x, y []float32, a, b float32) {
	y = y[:len(x)]
	if l != simd.Portable {
		scaleAddAVX(l, &x[0], &y[0], a, b, len(x))
		return
	}
	for i := range x {
		x[i] = float32(x[i]*a) + float32(y[i]*b)
	}
}

// Scale is out = x a; out has the length of x and may be x.
func Scale(l simd.Level, x, out []float32, a float32) {
	out = out[:len(x)]
	if l != simd.Portable {
		scaleAVX(l, &x[0], &out[0], a, len(x))
		return
	}
	for i := range x {
		out[i] = float32(x[i] * a)
	}
}

// Merge combines the softmax state of a row over positions a with that over later
// positions b. It returns the factors for the accumulators of both.
func Merge(peakA, totalA, peakB, totalB float32) (peak, total, a, b float32) {
	peak = max(peakA, peakB)
	e := [2]float32{peakA - peak, peakB - peak}
	expf.Of(e[:])
	return peak, float32(totalA*e[0]) + float32(totalB*e[1]), e[0], e[1]
}

// NoScore is the row maximum before the first score.
var NoScore = float32(math.Inf(-1))
