package attn

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/convert"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

var allKV = []KV{F32, BF16, F16, I8}

func (t KV) String() string { return [...]string{"f32", "bf16", "f16", "int8"}[t] }

func (t KV) bytes() int { return [...]int{4, 2, 2, 1}[t] }

// kvBlock is a block of keys and values in memory and as numbers: runs in random
// order, with NaN (for integers -128) after the last of n positions.
type kvBlock struct {
	mem          []byte
	keys, values Runs
	n, dim       int
	k, v         [][]float64 // [position][dim]
}

func newKVBlock(r *rand.Rand, t KV, n, dim int) *kvBlock {
	b := &kvBlock{n: n, dim: dim}
	run := RunSlots * dim * t.bytes()
	b.mem = make([]byte, 8*run+128)
	element := func(at int, real bool) float64 {
		x := float32(r.NormFloat64())
		if !real {
			x = float32(math.NaN())
		}
		switch t {
		case F32:
			binary.LittleEndian.PutUint32(b.mem[at:], math.Float32bits(x))
		case I8:
			q := int8(r.IntN(255) - 127)
			if !real {
				q = -128
			}
			b.mem[at] = byte(q)
			return float64(q)
		default:
			form := map[KV]layout.Form{BF16: layout.BF16, F16: layout.F16}[t]
			var h [1]uint16
			convert.Narrow(simd.Portable, form, h[:], []float32{x})
			binary.LittleEndian.PutUint16(b.mem[at:], h[0])
			out := []float32{0}
			convert.Widen(simd.Portable, form, out, h[:])
			x = out[0]
		}
		return float64(x)
	}
	order := r.Perm(8)
	count := (n + RunSlots - 1) / RunSlots
	for i := range blockRuns {
		j := min(i, count-1)
		b.keys[i] = Run{order[j] * run, order[7] * run}
		b.values[i] = Run{order[4+j] * run, order[0] * run}
	}
	for p := range count * RunSlots {
		k, v := make([]float64, dim), make([]float64, dim)
		for d := range dim {
			k[d] = element(b.keys[p/RunSlots].At+(d*RunSlots+p%RunSlots)*t.bytes(), p < n)
			v[d] = element(b.values[p/RunSlots].At+(p%RunSlots*dim+d)*t.bytes(), p < n)
		}
		b.k, b.v = append(b.k, k), append(b.v, v)
	}
	return b
}

// wide is the block as float32, for plain Go.
func (b *kvBlock) wide() (*byte, *Runs, *Runs) {
	out := make([]float32, 8*RunSlots*b.dim+32)
	var keys, values Runs
	for i := range blockRuns {
		keys[i], values[i] = Run{i * RunSlots * b.dim * 4, 0}, Run{(4 + i) * RunSlots * b.dim * 4, 0}
	}
	for p := range b.k {
		for d := range b.dim {
			out[(p/RunSlots*b.dim+d)*RunSlots+p%RunSlots] = float32(b.k[p][d])
			out[(4*RunSlots+p)*b.dim+d] = float32(b.v[p][d])
		}
	}
	return (*byte)(unsafe.Pointer(&out[0])), &keys, &values
}

// awkward are head sizes and numbers of rows.
var (
	awkwardDims = []int{1, 7, 10, 24, 32, 64, 80, 96, 128, 256}
	awkwardRows = []int{1, 2, 3, 5, 6, 7, 8, 11, 12, 13, 16, 25}
)

// eachBlock runs a test at every level and for every type, each with a few combinations
// of sizes. Every size occurs.
func eachBlock(t *testing.T, run func(t *testing.T, l simd.Level, kv KV, r *rand.Rand, b *kvBlock, rows int)) {
	for _, l := range kerneltest.VectorLevels() {
		for _, kv := range allKV {
			t.Run(fmt.Sprintf("%s/%s", l, kv), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(l), uint64(kv)))
				for i, dim := range awkwardDims {
					for j, rows := range awkwardRows {
						n := 1 + r.IntN(BlockSlots)
						if (i+j)%3 == 0 {
							n = BlockSlots
						}
						run(t, l, kv, r, newKVBlock(r, kv, n, dim), rows)
					}
				}
			})
		}
	}
}

func (b *kvBlock) scores(l simd.Level, kv KV, q []float32, ldq, rows int, out []float32) {
	base, keys := &b.mem[0], &b.keys
	if l == simd.Portable {
		base, keys, _ = b.wide()
		kv = F32
	}
	Scores(l, kv, q, ldq, rows, base, keys, (b.n+RunSlots-1)/RunSlots, b.dim, out)
}

func (b *kvBlock) weighted(l simd.Level, kv KV, p []float32, rows, from, n int, acc []float32) {
	base, values := &b.mem[0], &b.values
	if l == simd.Portable {
		base, _, values = b.wide()
		kv = F32
	}
	Values(l, kv, p, rows, base, values, from, n, b.dim, acc)
}

// Rows of queries are apart, as the heads of one token or one head of several
// tokens are.
func TestScores(t *testing.T) {
	eachBlock(t, func(t *testing.T, l simd.Level, kv KV, r *rand.Rand, b *kvBlock, rows int) {
		ldq := b.dim + r.IntN(3)*5
		q := kerneltest.Guarded(r, rows*ldq)[:rows*ldq]
		out := make([]float32, rows*BlockSlots)
		b.scores(l, kv, q, ldq, rows, out)
		alone := make([]float32, BlockSlots)
		for row := range rows {
			for p := range b.n {
				var want, size float64
				for d, k := range b.k[p] {
					want += float64(q[row*ldq+d]) * k
					size += math.Abs(float64(q[row*ldq+d]) * k)
				}
				// Half a unit in the last place a product and sum, of which
				// there are dim: far less in fact.
				if got := out[row*BlockSlots+p]; !(kerneltest.Off(got, want, size) <= 1e-6) {
					t.Fatalf("dim %d, row %d of %d, position %d of %d: %v, want %v", b.dim, row, rows, p, b.n, got, want)
				}
			}
			b.scores(l, kv, q[row*ldq:], ldq, 1, alone)
			for p := range b.n {
				if alone[p] != out[row*BlockSlots+p] {
					t.Fatalf("dim %d, row %d of %d, position %d: %v, alone %v", b.dim, row, rows, p, out[row*BlockSlots+p], alone[p])
				}
			}
		}
	})
}

// A wrong element that a query sees is noticed and changes no other position. One that
// it does not see changes nothing.
func TestWrongKeysAreNoticed(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, l := range kerneltest.VectorLevels() {
		for _, kv := range allKV {
			const n, dim, rows = 37, 24, 5
			b := newKVBlock(r, kv, n, dim)
			q := kerneltest.Guarded(r, rows*dim)[:rows*dim]
			right, wrong := make([]float32, rows*BlockSlots), make([]float32, rows*BlockSlots)
			b.scores(l, kv, q, dim, rows, right)
			for range 50 {
				p, d := r.IntN(48), r.IntN(dim)
				at := b.keys[p/RunSlots].At + (d*RunSlots+p%RunSlots)*kv.bytes() + kv.bytes() - 1
				b.mem[at] ^= 0x41 // sign or size
				was := b.k[p][d]
				b.k[p][d] = 3 - was // for plain Go, which reads the numbers
				b.scores(l, kv, q, dim, rows, wrong)
				b.mem[at] ^= 0x41
				b.k[p][d] = was
				for row := range rows {
					for i := range n {
						j := row*BlockSlots + i
						if (right[j] != wrong[j]) != (i == p) {
							t.Fatalf("%s, %s: element %d of position %d is wrong; row %d, position %d: %v, before %v", l, kv, d, p, row, i, wrong[j], right[j])
						}
					}
				}
			}
		}
	}
}

func TestValues(t *testing.T) {
	eachBlock(t, func(t *testing.T, l simd.Level, kv KV, r *rand.Rand, b *kvBlock, rows int) {
		width := AccWidth(b.dim)
		p := make([]float32, rows*BlockSlots)
		for i := range p {
			if p[i] = r.Float32(); i%BlockSlots >= b.n {
				p[i] = float32(math.NaN())
			}
		}
		acc := make([]float32, rows*width)
		for i := range acc {
			acc[i] = r.Float32()
		}
		before := append([]float32(nil), acc...)
		from := r.IntN(b.n)
		b.weighted(l, kv, p, rows, from, b.n-from, acc)
		for row := range rows {
			for d := range b.dim {
				want := float64(before[row*width+d])
				size := want
				for i := from; i < b.n; i++ {
					want += float64(p[row*BlockSlots+i]) * b.v[i][d]
					size += math.Abs(float64(p[row*BlockSlots+i]) * b.v[i][d])
				}
				if got := acc[row*width+d]; !(kerneltest.Off(got, want, size) <= 1e-6) {
					t.Fatalf("row %d of %d, positions %d to %d, dimension %d of %d: %v, want %v", row, rows, from, b.n, d, b.dim, got, want)
				}
			}
			// In two parts and alone: the same bits.
			cut := from + r.IntN(b.n-from+1)
			if cut > from {
				b.weighted(l, kv, p[row*BlockSlots:], 1, from, cut-from, before[row*width:])
			}
			if cut < b.n {
				b.weighted(l, kv, p[row*BlockSlots:], 1, cut, b.n-cut, before[row*width:])
			}
			for d := range b.dim {
				if acc[row*width+d] != before[row*width+d] {
					t.Fatalf("row %d of %d, dimension %d: %v, alone and cut at %d %v", row, rows, d, acc[row*width+d], cut, before[row*width+d])
				}
			}
		}
	})
}

func TestSoftmax(t *testing.T) {
	for _, l := range kerneltest.VectorLevels() {
		r := rand.New(rand.NewPCG(5, uint64(l)))
		for rows := 1; rows <= 70; rows += 3 {
			w := Weights{make([]float32, rows), make([]float32, rows), make([]float32, rows)}
			seen := make([]int32, rows)
			s := make([]float32, rows*BlockSlots)
			var keyScales, valueScales []float32
			peaks, totals := make([]float64, rows), make([]float64, rows)
			for i := range rows {
				w.Max[i], peaks[i] = NoScore, math.Inf(-1)
			}
			for block := range 3 {
				if rows%2 == 0 {
					keyScales, valueScales = kerneltest.Guarded(r, BlockSlots), kerneltest.Guarded(r, BlockSlots)
				}
				for i := range s {
					s[i] = float32(30 * r.NormFloat64())
				}
				for i := range seen {
					seen[i] = int32(1 + r.IntN(BlockSlots))
					for j := int(seen[i]); j < BlockSlots; j++ {
						s[i*BlockSlots+j] = float32(math.NaN())
					}
				}
				scores := append([]float32(nil), s...)
				Softmax(l, s, seen, 0.3, keyScales, valueScales, w)
				for i := range rows {
					old := peaks[i]
					x := make([]float64, seen[i])
					for j := range x {
						x[j] = float64(scores[i*BlockSlots+j]) * float64(float32(0.3))
						if keyScales != nil {
							x[j] *= float64(keyScales[j])
						}
						peaks[i] = max(peaks[i], x[j])
					}
					shrink := math.Exp(old - peaks[i])
					totals[i] *= shrink
					for j := range x {
						e := math.Exp(x[j] - peaks[i])
						totals[i] += e
						want := e
						if valueScales != nil {
							want *= float64(valueScales[j])
						}
						// A score of 100 is off by 4e-6, and so is its exponent.
						if got := s[i*BlockSlots+j]; !(math.Abs(float64(got)-want) <= 4e-5*math.Abs(want)+1e-30) {
							t.Fatalf("%s, block %d, row %d of %d, position %d: weight %v, want %v", l, block, i, rows, j, got, want)
						}
					}
					if !(kerneltest.Off(w.Max[i], peaks[i], math.Abs(peaks[i])) < 1e-6) || !(kerneltest.Off(w.Sums[i], totals[i], totals[i]) < 1e-4) ||
						!(math.Abs(float64(w.Rescale[i])-shrink) <= 4e-5*shrink+1e-30) {
						t.Fatalf("%s, block %d, row %d of %d: peak %v, total %v, shrink %v, want %v, %v, %v",
							l, block, i, rows, w.Max[i], w.Sums[i], w.Rescale[i], peaks[i], totals[i], shrink)
					}
				}
			}
		}
	}
}

// NaN in a seen position must reach the result.
func TestSoftmaxKeepsNaN(t *testing.T) {
	for _, l := range kerneltest.VectorLevels() {
		s := make([]float32, BlockSlots)
		s[3] = float32(math.NaN())
		w := Weights{[]float32{NoScore}, []float32{0}, []float32{0}}
		Softmax(l, s, []int32{9}, 1, nil, nil, w)
		if w.Sums[0] == w.Sums[0] {
			t.Errorf("%s: total %v over a score that is NaN", l, w.Sums[0])
		}
	}
}

func TestMergeIsSoftmaxOverBoth(t *testing.T) {
	peak, total, a, b := Merge(2, 3, 5, 7)
	if want := 7 + 3*math.Exp(-3); peak != 5 || b != 1 || math.Abs(float64(total)-want) > 1e-6 || math.Abs(float64(a)-math.Exp(-3)) > 1e-8 {
		t.Errorf("merged: peak %v, total %v, factors %v and %v", peak, total, a, b)
	}
}

func TestScaleAndScaleAdd(t *testing.T) {
	kerneltest.LevelsAndSizes(t, func(t *testing.T, l simd.Level, r *rand.Rand, n int) {
		x, y, out := kerneltest.Guarded(r, n), kerneltest.Guarded(r, n), kerneltest.Guarded(r, n)
		Scale(l, x[:n], out[:n], 0.7)
		kerneltest.Unspoilt(t, "scaled", out, n)
		for i := range n {
			if out[i] != x[i]*0.7 {
				t.Fatalf("%d elements: %v x 0.7 = %v", n, x[i], out[i])
			}
			out[i] = x[i]
		}
		ScaleAdd(l, out[:n], y[:n], 0.5, 3)
		kerneltest.Unspoilt(t, "mixed", out, n)
		for i := range n {
			want := float64(x[i])*0.5 + float64(y[i])*3
			if kerneltest.Off(out[i], want, math.Abs(want)+math.Abs(float64(x[i]))) > 1e-6 {
				t.Fatalf("%d elements: %v/2 + 3 x %v = %v", n, x[i], y[i], out[i])
			}
		}
	})
}
