package kernel

import "fmt"

// Tokens of a tile of Gemm and IntGemm at most, by level.
var widestTile = [...]int{Portable: 8, AVX2: 6, AVX512: 12, AMX: 12}

// TileTokens is how many tokens a tile of Gemm or IntGemm has at most.
func (l Level) TileTokens() int { return widestTile[l] }

// Gemm multiplies a panel with a tile of tokens:
//
//	y[t*ldy+r] = (y[t*ldy+r] with add, 0 without) + sum over c of W[r,c] x[c*tokens+t]
//
// for the 32 rows of the panel. The sum of an element runs along the columns
// with one rounding each (two at level portable), so that neither tiles nor
// calls for ranges of columns one after the other, with add, change a bit. A
// range begins at f.PanelBytes(first column) of the panel, so that it must be
// multiple of f.Unit().
//
// Activations stay float32. A weight of the forms of integers is value x scale,
// plus a minimum where there is one, rounded to float32 once if at all, so that
// the results are those of the same matrix as F32.
//
// tokens is 1 to l.TileTokens(); ldy at least 32 unless there is one token. So
// many bytes ahead of the weights in use the cache is asked for those to come;
// 0: nothing is asked. It may reach beyond the panel.
func Gemm(l Level, f Form, panel []byte, cols int, x []float32, tokens int, y []float32, ldy int, add bool, ahead int) {
	if tokens < 1 || tokens > widestTile[l] {
		panic(fmt.Sprintf("kernel: a tile of %d tokens; at level %s it has 1 to %d", tokens, l, widestTile[l]))
	}
	if tokens == 1 {
		ldy = PanelRows
	}
	if ldy < PanelRows || len(panel) < f.PanelBytes(cols) || len(x) < cols*tokens || len(y) < (tokens-1)*ldy+PanelRows {
		panic(fmt.Sprintf("kernel: %d bytes of %s, %d activations and %d results, %d apart, are not what %d columns of %d tokens need",
			len(panel), f, len(x), len(y), ldy, cols, tokens))
	}
	if l == Portable || cols == 0 {
		gemmPortable(f, panel, cols, x, tokens, y, ldy, add)
		return
	}
	w, in, out, sum := &panel[0], &x[0], &y[0], 0
	if add {
		sum = 1
	}
	// A switch, because pointers passed through a func value escape.
	switch f {
	case F32:
		if l >= AVX512 {
			gemmF32AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmF32AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case BF16:
		if l >= AVX512 {
			gemmBF16AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmBF16AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case F16:
		if l >= AVX512 {
			gemmF16AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmF16AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case Q8:
		if l >= AVX512 {
			gemmQ8AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ8AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case Q4:
		if l >= AVX512 {
			gemmQ4AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ4AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case Q41:
		if l >= AVX512 {
			gemmQ41AVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ41AVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case Q4K:
		if l >= AVX512 {
			gemmQ4KAVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ4KAVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	case Q6K:
		if l >= AVX512 {
			gemmQ6KAVX512(w, cols, in, tokens, out, ldy, sum, ahead)
		} else {
			gemmQ6KAVX2(w, cols, in, tokens, out, ldy, sum, ahead)
		}
	}
}

// MultiplyAdds keeps the multipliers of a level busy for n rounds, which is what
// a share of their peak is measured against, and returns how many
// floating-point operations it did.
func MultiplyAdds(l Level, n int) (operations int) {
	if n <= 0 {
		return 0
	}
	switch l {
	case AVX512, AMX:
		multiplyAddsAVX512(n)
		return n * 24 * 16 * 2
	case AVX2:
		multiplyAddsAVX2(n)
		return n * 12 * 8 * 2
	}
	multiplyAddsPortable(n)
	return n * 8 * 2
}
