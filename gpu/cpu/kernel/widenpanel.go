package kernel

import "fmt"

// WidenPanel turns so many columns of a panel of BF16 or F16 into those of a
// panel of F32, which takes F32.PanelBytes(cols) bytes of out; exact. Gemm
// gives the same bits for both, and for many tiles of tokens it is quicker to
// widen weights once than in each.
func WidenPanel(l Level, f Form, out, panel []byte, cols int) {
	check16(f)
	if len(panel) < f.PanelBytes(cols) || len(out) < F32.PanelBytes(cols) {
		panic(fmt.Sprintf("kernel: %d bytes of %s do not become %d columns of f32 in %d bytes", len(panel), f, cols, len(out)))
	}
	if f == F16 {
		n := cols * PanelRows
		Widen(l, f, floats(out)[:n], halves(panel)[:n])
		return
	}
	done := 0
	if pairs := cols / 2; pairs > 0 && l != Portable {
		if l >= AVX512 {
			widenPairsAVX512(&out[0], &panel[0], pairs)
		} else {
			widenPairsAVX2(&out[0], &panel[0], pairs)
		}
		done = 2 * pairs
	}
	in, to := words(panel), floats(out)
	for c := done; c < cols; c++ {
		column := to[c*PanelRows:][:PanelRows]
		for r, pair := range in[c/2*PanelRows:][:PanelRows] {
			if column[r] = even(pair); c%2 != 0 {
				column[r] = odd(pair)
			}
		}
	}
}
