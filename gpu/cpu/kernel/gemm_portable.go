package kernel

// blockCols is the columns that are widened at a time: 8 KiB, which stay in the
// first cache for all tokens and rows.
const blockCols = 64

// gemmPortable is Gemm in plain Go. Products are rounded before they are added.
func gemmPortable(f Form, panel []byte, cols int, x []float32, tokens int, y []float32, ldy int, add bool) {
	if !add {
		for t := range tokens {
			clear(y[t*ldy : t*ldy+PanelRows])
		}
	}
	var wide [blockCols * PanelRows]float32
	if f >= Q41 {
		for g := range cols / GroupCols {
			widenGroup(f, panel, g, &wide)
			addColumns(wide[:GroupCols*PanelRows], x[g*GroupCols*tokens:(g+1)*GroupCols*tokens], tokens, y, ldy)
		}
		return
	}
	for from := 0; from < cols; from += blockCols {
		n := min(blockCols, cols-from)
		in, w := x[from*tokens:(from+n)*tokens], panel[f.PanelBytes(from):f.PanelBytes(from+n)]
		if f == BF16 && tokens == 1 {
			addPairs(words(w), in, y)
			continue
		}
		columns := wide[:n*PanelRows]
		if f == F32 {
			columns = floats(w)
		} else {
			widenBlock(&wide, f, w, n)
		}
		addColumns(columns, in, tokens, y, ldy)
	}
}

// addColumns adds the products of columns of F32 and a tile of tokens.
func addColumns(columns, in []float32, tokens int, y []float32, ldy int) {
	t := 0
	for ; t+2 <= tokens; t += 2 {
		for r := 0; r < PanelRows; r += 4 {
			at := t*ldy + r
			add4x2(columns[r:], in[t:], tokens, (*[4]float32)(y[at:]), (*[4]float32)(y[at+ldy:]))
		}
	}
	if t < tokens {
		for r := 0; r < PanelRows; r += 8 {
			add8(columns[r:], in[t:], tokens, (*[8]float32)(y[t*ldy+r:]))
		}
	}
}

// add4x2 adds the products of four rows and two tokens, which keeps eight
// independent sums in registers.
func add4x2(w []float32, x []float32, stride int, y, z *[4]float32) {
	y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
	z0, z1, z2, z3 := z[0], z[1], z[2], z[3]
	for i, c := 0, 0; i+1 < len(x); i, c = i+stride, c+PanelRows {
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
	for i, c := 0, 0; i < len(x); i, c = i+stride, c+PanelRows {
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

// addPairs adds the products of 32 rows of BF16 and one token, widened on the
// way: a widened copy would be read only once.
func addPairs(w []uint32, x []float32, y []float32) {
	for r := 0; r < PanelRows; r += 4 {
		y := (*[4]float32)(y[r:])
		y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
		i, at := 0, r
		for ; i+2 <= len(x); i, at = i+2, at+PanelRows {
			a, b := x[i], x[i+1]
			w := (*[4]uint32)(w[at:])
			y0 += float32(even(w[0]) * a)
			y1 += float32(even(w[1]) * a)
			y2 += float32(even(w[2]) * a)
			y3 += float32(even(w[3]) * a)
			y0 += float32(odd(w[0]) * b)
			y1 += float32(odd(w[1]) * b)
			y2 += float32(odd(w[2]) * b)
			y3 += float32(odd(w[3]) * b)
		}
		if i < len(x) {
			w := (*[4]uint32)(w[at:])
			y0 += float32(even(w[0]) * x[i])
			y1 += float32(even(w[1]) * x[i])
			y2 += float32(even(w[2]) * x[i])
			y3 += float32(even(w[3]) * x[i])
		}
		y[0], y[1], y[2], y[3] = y0, y1, y2, y3
	}
}

// widenBlock makes columns of F32 of the n columns of a panel.
func widenBlock(out *[blockCols * PanelRows]float32, f Form, panel []byte, n int) {
	switch f {
	case BF16:
		for i, pair := range words(panel) {
			at := i/PanelRows*2*PanelRows + i%PanelRows
			out[at], out[at+PanelRows] = even(pair), odd(pair)
		}
	case F16:
		for i, h := range halves(panel) {
			out[i] = fromF16(h)
		}
	case Q8:
		for g := range n / GroupCols {
			scales, group := scalesOf(panel, g, q8Group), panel[g*q8Group:]
			for i := range 8 * PanelRows {
				b, scale := (*[4]byte)(group[4*i:]), scales[i%PanelRows]
				to := out[(g*GroupCols+i/PanelRows*4)*PanelRows+i%PanelRows:][:3*PanelRows+1]
				to[0], to[PanelRows] = q8(b[0], scale), q8(b[1], scale)
				to[2*PanelRows], to[3*PanelRows] = q8(b[2], scale), q8(b[3], scale)
			}
		}
	case Q4:
		for g := range n / GroupCols {
			scales, group := scalesOf(panel, g, q4Group), panel[g*q4Group:]
			for i := range 4 * PanelRows {
				b, scale := (*[4]byte)(group[4*i:]), scales[i%PanelRows]
				to := out[(g*GroupCols+i/PanelRows*4)*PanelRows+i%PanelRows:][:19*PanelRows+1]
				to[0], to[16*PanelRows] = q4(b[0]&15, scale), q4(b[0]>>4, scale)
				to[PanelRows], to[17*PanelRows] = q4(b[1]&15, scale), q4(b[1]>>4, scale)
				to[2*PanelRows], to[18*PanelRows] = q4(b[2]&15, scale), q4(b[2]>>4, scale)
				to[3*PanelRows], to[19*PanelRows] = q4(b[3]&15, scale), q4(b[3]>>4, scale)
			}
		}
	}
}

// scalesOf widens the scales of a group.
func scalesOf(panel []byte, g, size int) (scales [PanelRows]float32) {
	for r, h := range groupOf(panel, g, size) {
		scales[r%PanelRows] = fromF16(h)
	}
	return scales
}

// groupOf is the scales of a group.
func groupOf(panel []byte, g, size int) []uint16 {
	return halves(panel[(g+1)*size-2*PanelRows : (g+1)*size])
}

// sink keeps the compiler from leaving work out.
var sink float32

func multiplyAddsPortable(n int) {
	var a, b, c, d, e, f, g, h float32
	x, y := sink, sink
	for range n {
		a = float32(a*x) + y
		b = float32(b*x) + y
		c = float32(c*x) + y
		d = float32(d*x) + y
		e = float32(e*x) + y
		f = float32(f*x) + y
		g = float32(g*x) + y
		h = float32(h*x) + y
	}
	sink = a + b + c + d + e + f + g + h
}
