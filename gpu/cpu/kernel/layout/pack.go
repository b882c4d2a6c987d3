package layout

import (
	"encoding/binary"
	"fmt"
)

// Pack writes up to 32 rows as a panel, padded with rows of zeros. A row is
// little-endian numbers, or for Q8 and Q4 blocks of Q8_0 and Q4_0: a float16 scale,
// then 32 int8, or 16 bytes of which byte j holds column j in its lower half and
// column 16+j in its upper half, plus 8. For Q41, Q4K and Q6K it is blocks of Q4_1,
// Q4_K and Q6_K, which package gpu/quant describes.
func Pack(f Form, panel []byte, cols int, rows [][]byte) {
	if len(rows) > PanelRows || len(panel) < f.PanelBytes(cols) {
		panic(fmt.Sprintf("layout: %d rows of %d columns do not go into a panel of %d bytes", len(rows), cols, len(panel)))
	}
	for _, row := range rows {
		if len(row) < f.RowBytes(cols) {
			panic(fmt.Sprintf("layout: a row of %d bytes does not hold %d columns of %s", len(row), cols, f))
		}
	}
	if len(rows) < PanelRows {
		clear(panel[:f.PanelBytes(cols)])
	}
	switch f {
	case F32:
		packWords(panel, rows, cols)
	case BF16:
		packWords(panel, rows, cols/2)
		if cols%2 != 0 {
			last := panel[cols/2*4*PanelRows:][:4*PanelRows]
			for r, row := range rows {
				binary.NativeEndian.PutUint32(last[4*r:], uint32(binary.LittleEndian.Uint16(row[2*cols-2:])))
			}
		}
	case F16:
		packHalves(panel, rows, cols)
	case Q8:
		packGroups(panel, rows, cols, 8, 0x80808080)
	case Q4:
		packGroups(panel, rows, cols, 4, 0)
	case Q41, Q4K, Q6K:
		packBlocks(f, panel, rows, cols)
	}
}

// packWords transposes n words of 32 bits of each row, a cache line of each row at a
// time, so that rows are read in order.
func packWords(panel []byte, rows [][]byte, n int) {
	const line = 16
	i := 0
	for ; i+line <= n; i += line {
		out := panel[i*4*PanelRows:][:line*4*PanelRows]
		for r, row := range rows {
			in := (*[4 * line]byte)(row[4*i:])
			out := out[4*r:]
			out = out[:(line-1)*4*PanelRows+4]
			for j := range line {
				binary.NativeEndian.PutUint32(out[j*4*PanelRows:], binary.LittleEndian.Uint32(in[4*j:]))
			}
		}
	}
	for ; i < n; i++ {
		for r, row := range rows {
			binary.NativeEndian.PutUint32(panel[i*4*PanelRows+4*r:], binary.LittleEndian.Uint32(row[4*i:]))
		}
	}
}

// packHalves transposes n words of 16 bits of each row.
func packHalves(panel []byte, rows [][]byte, n int) {
	const line = 32
	i := 0
	for ; i+line <= n; i += line {
		out := panel[i*2*PanelRows:][:line*2*PanelRows]
		for r, row := range rows {
			in := (*[2 * line]byte)(row[2*i:])
			out := out[2*r:]
			out = out[:(line-1)*2*PanelRows+2]
			for j := range line {
				binary.NativeEndian.PutUint16(out[j*2*PanelRows:], binary.LittleEndian.Uint16(in[2*j:]))
			}
		}
	}
	for ; i < n; i++ {
		for r, row := range rows {
			binary.NativeEndian.PutUint16(panel[i*2*PanelRows+2*r:], binary.LittleEndian.Uint16(row[2*i:]))
		}
	}
}

// packGroups moves blocks of a scale and 32-bit words; flip makes signed values unsigned.
func packGroups(panel []byte, rows [][]byte, cols, words int, flip uint32) {
	block, group := 2+4*words, PanelRows*(2+4*words)
	for g := range cols / GroupCols {
		out := panel[g*group:][:group]
		scales := out[group-2*PanelRows:]
		for r, row := range rows {
			in := row[g*block:][:block]
			binary.NativeEndian.PutUint16(scales[2*r:], binary.LittleEndian.Uint16(in))
			in = in[2:]
			for j := range words {
				binary.LittleEndian.PutUint32(out[j*4*PanelRows+4*r:], binary.LittleEndian.Uint32(in[4*j:])^flip)
			}
		}
	}
}
