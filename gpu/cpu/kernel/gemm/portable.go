package gemm

import "github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"

// multiplyPortable is Multiply in plain Go. Products are rounded before they are added.
func multiplyPortable(f layout.Form, panel []byte, cols int, x []float32, tokens int, y []float32, ldy int, add bool) {
	if !add {
		for t := range tokens {
			clear(y[t*ldy : t*ldy+layout.PanelRows])
		}
	}
	if f == layout.BF16 && tokens == 1 {
		addPairs(layout.Words(panel[:f.PanelBytes(cols)]), x[:cols], y)
		return
	}
	var unpacked layout.Columns
	for from := 0; from < cols; from += layout.UnpackCols {
		n := min(layout.UnpackCols, cols-from)
		columns := unpacked[:n*layout.PanelRows]
		if f == layout.F32 {
			columns = layout.Floats(panel)[from*layout.PanelRows:][:len(columns)]
		} else {
			layout.Unpack(f, panel, from, n, &unpacked)
		}
		addColumns(columns, x[from*tokens:(from+n)*tokens], tokens, y, ldy)
	}
}

// addColumns adds the products of columns of F32 and a tile of tokens.
func addColumns(columns, in []float32, tokens int, y []float32, ldy int) {
	t := 0
	for ; t+2 <= tokens; t += 2 {
		for r := 0; r < layout.PanelRows; r += 4 {
			at := t*ldy + r
			add4x2(columns[r:], in[t:], tokens, (*[4]float32)(y[at:]), (*[4]float32)(y[at+ldy:]))
		}
	}
	if t < tokens {
		for r := 0; r < layout.PanelRows; r += 8 {
			add8(columns[r:], in[t:], tokens, (*[8]float32)(y[t*ldy+r:]))
		}
	}
}

// add4x2 adds the products of four rows and two tokens, which keeps eight
// independent sums in registers.
func add4x2(w []float32, x []float32, stride int, y, z *[4]float32) {
	y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
	z0, z1, z2, z3 := z[0], z[1], z[2], z[3]
	for i, c := 0, 0; i+1 < len(x); i, c = i+stride, c+layout.PanelRows {
		a, b := x[i], x[i+1]
		w := (*[4]float32)(w[c:])
		y0 += float32(w[0] * a)
		y1 += float32(w[1] * a)
		y2 += float32(w[2] * a)
		y3 += float32(w[3] * a)
		z0 += float32(w[0] * b)
		z1 += float32(w[1] * b)
		z2 += float32(w[2] * b)
		z3 += float32(w[3] * b)
	}
	y[0], y[1], y[2], y[3] = y0, y1, y2, y3
	z[0], z[1], z[2], z[3] = z0, z1, z2, z3
}

// add8 adds the products of eight rows and one token.
func add8(w []float32, x []float32, stride int, y *[8]float32) {
	y0, y1, y2, y3, y4, y5, y6, y7 := y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7]
	for i, c := 0, 0; i < len(x); i, c = i+stride, c+layout.PanelRows {
		a := x[i]
		w := (*[8]float32)(w[c:])
		y0 += float32(w[0] * a)
		y1 += float32(w[1] * a)
		y2 += float32(w[2] * a)
		y3 += float32(w[3] * a)
		y4 += float32(w[4] * a)
		y5 += float32(w[5] * a)
		y6 += float32(w[6] * a)
		y7 += float32(w[7] * a)
	}
	y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7] = y0, y1, y2, y3, y4, y5, y6, y7
}

// addPairs adds the products of 32 rows of BF16 and one token. It converts weights
// as it reads them, because a converted copy would be read only once.
func addPairs(w []uint32, x []float32, y []float32) {
	for r := 0; r < layout.PanelRows; r += 4 {
		y := (*[4]float32)(y[r:])
		y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
		i, at := 0, r
		for ; i+2 <= len(x); i, at = i+2, at+layout.PanelRows {
			a, b := x[i], x[i+1]
			w := (*[4]uint32)(w[at:])
			y0 += float32(layout.EvenBF16(w[0]) * a)
			y1 += float32(layout.EvenBF16(w[1]) * a)
			y2 += float32(layout.EvenBF16(w[2]) * a)
			y3 += float32(layout.EvenBF16(w[3]) * a)
			y0 += float32(layout.OddBF16(w[0]) * b)
			y1 += float32(layout.OddBF16(w[1]) * b)
			y2 += float32(layout.OddBF16(w[2]) * b)
			y3 += float32(layout.OddBF16(w[3]) * b)
		}
		if i < len(x) {
			w := (*[4]uint32)(w[at:])
			y0 += float32(layout.EvenBF16(w[0]) * x[i])
			y1 += float32(layout.EvenBF16(w[1]) * x[i])
			y2 += float32(layout.EvenBF16(w[2]) * x[i])
			y3 += float32(layout.EvenBF16(w[3]) * x[i])
		}
		y[0], y[1], y[2], y[3] = y0, y1, y2, y3
	}
}
