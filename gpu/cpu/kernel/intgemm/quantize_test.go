package intgemm

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

// quantizeTwin is one group of QuantizeRow.
func quantizeTwin(x []float32) (q []int, scale float32) {
	peak := float32(1e-30)
	for _, v := range x {
		if v != v || math.IsInf(float64(v), 0) {
			return make([]int, len(x)), float32(math.NaN())
		}
		peak = max(peak, float32(math.Abs(float64(v))))
	}
	for _, v := range x {
		q = append(q, int(math.RoundToEven(float64(v*(127/peak)))))
	}
	return q, peak / 127
}

func TestQuantizeRow(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, l := range kerneltest.VectorLevels() {
		for _, tokens := range []int{1, 2, 5, 12} {
			p := randomIntegers(r, layout.Q8, 6, tokens)
			for i, v := range []float32{math.MaxFloat32, -math.MaxFloat32, 1e-30, -3e-38, math.SmallestNonzeroFloat32, 0.5, inf, -inf, nan} {
				p.x[i%tokens][32*r.IntN(6)+r.IntN(32)] = v
			}
			tile := bytes.Repeat([]byte{0xa5}, TileBytes(6, tokens)+8)
			for token := range tokens {
				before := bytes.Clone(tile)
				QuantizeRow(l, Quads, p.x[token], tile, token, tokens)
				changed := 0
				for i := range tile {
					if tile[i] != before[i] {
						changed++
						if own := i/4%tokens == token; !own || i >= len(tile)-8 {
							t.Fatalf("%s: token %d of %d wrote byte %d", l, token, tokens, i)
						}
					}
				}
				if changed == 0 {
					t.Fatal("nothing was written")
				}
			}
			for token := range tokens {
				for g := range 6 {
					q, scale := quantizeTwin(p.x[token][32*g : 32*g+32])
					act := tile[g*tokens*tokenBytes:]
					at := func(step int) uint32 { return binary.LittleEndian.Uint32(act[4*(step*tokens+token):]) }
					if have := math.Float32frombits(at(9)); !kerneltest.Same(have, scale) {
						t.Fatalf("%s: scale %v, want %v", l, have, scale)
					}
					if scale != scale {
						continue // the elements mean nothing
					}
					sum := 0
					for c, want := range q {
						if have := int(int8(at(c/4) >> (8 * (c % 4)))); have != want {
							t.Fatalf("%s: token %d group %d column %d of %v: %d, want %d", l, token, g, c, p.x[token][32*g:32*g+32], have, want)
						}
						sum += want
					}
					if have := int(int32(at(8))); have != -128*sum {
						t.Fatalf("%s: correction %d of a sum of %d", l, have, sum)
					}
				}
			}
		}
	}
}
