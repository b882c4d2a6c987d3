// Package layout defines how the kernels store weights in memory.
//
// A matrix [rows, cols] is stored in panels of 32 rows. Elements of a column are
// neighbours, so the dot product of a row runs along the columns in one lane, in order. The
// last panel is padded with rows of zeros. Form lists the encodings of the elements.
//
// # Parts
//
//	form, blocks        the encodings; groups of quantised weights and their scales
//	pack, packblocks    from rows to panels; of the types with blocks of several scales
//	unpack              from panels to float32; panels as numbers
//	tiling              how tokens are divided for a product
package layout

import "fmt"

const PanelRows = 32

// GroupCols is the number of columns that share a scale in the forms of integers.
const GroupCols = 32

// Form is the encoding of the elements of a panel.
type Form uint8

// The forms. Brackets give the order in memory, fastest index last.
const (
	// F32 is [column][row] float32.
	F32 Form = iota
	// BF16 is [pair of columns][row][2] bfloat16, padded to pairs of columns.
	BF16
	// F16 is [column][row] float16.
	F16
	// Q8 is, for each group of 32 columns, [8][row][4] bytes, value + 128, and then 32
	// float16, the scale of each row. 34 bytes for 32 weights, as in Q8_0.
	Q8
	// Q4 is, for each group of 32 columns, [4][row][4] bytes and then 32 float16, the
	// scale of each row. Byte [s][r][i] holds value + 8 of column 4s+i in its low half
	// and of column 16+4s+i in its high half. 18 bytes for 32 weights, as in Q4_0.
	Q4
	// Q41 is, for each group of 32 columns, bytes as in Q4 without the offset, 32 float16
	// d and 32 float16 m: a weight is d*value + m. 20 bytes for 32 weights, as in Q4_1.
	Q41
	// Q4K is, for each block of 256 columns, 32 float16 d and 32 float16 m, and then for
	// each of its 8 groups of 32 columns bytes as in Q41, 32 bytes s and 32 bytes t, 0 to
	// 63: a weight is d*s*value - m*t. 148 bytes for 256 weights, 4 more than in Q4_K.
	Q4K
	// Q6K is, for each block of 256 columns, 32 float16 d, and then for each of
	// its 8 groups of 32 columns [2] times {[2][row][4] bytes, [row][4] bytes},
	// 32 int8 s of columns 0 to 15 and 32 of columns 16 to 31: a weight is
	// d*s*value. The first bytes of part u are like bytes [2u] and [2u+1] of Q4 and
	// hold the lower four bits of value + 32. Byte [u][r][i] of the second holds, from
	// the lowest up, the upper two bits of columns 8u+i, 16+8u+i, 8u+4+i and
	// 16+8u+4+i. 210 bytes for 256 weights, as in Q6_K.
	Q6K
)

// forms has, for each form, its name, log2 of its unit of columns, and the bytes of a
// unit: of a row as Pack reads it, of a panel, and of the panel's head, which a block has.
var forms = [...]struct {
	name             string
	bits             uint
	row, panel, head int
}{
	F32:  {"f32", 0, 4, 4 * PanelRows, 0},
	BF16: {"bf16", 1, 4, 4 * PanelRows, 0},
	F16:  {"f16", 0, 2, 2 * PanelRows, 0},
	Q8:   {"q8", 5, 34, 34 * PanelRows, 0},
	Q4:   {"q4", 5, 18, 18 * PanelRows, 0},
	Q41:  {"q4_1", 5, q41Row, q41Group, 0},
	Q4K:  {"q4_k", 8, q4kRow, q4kBlock, q4kHead},
	Q6K:  {"q6_k", 8, q6kRow, q6kBlock, q6kHead},
}

var Forms = []Form{F32, BF16, F16, Q8, Q4, Q41, Q4K, Q6K}

func (f Form) String() string { return forms[f].name }

// Integer reports whether weights are integers with scales; columns then come in groups.
func (f Form) Integer() bool { return f >= Q8 }

// Unit is the number of columns of which every range is a multiple.
func (f Form) Unit() int { return 1 << forms[f].bits }

// PanelBytes is the size of a panel of cols columns: a multiple of 64.
func (f Form) PanelBytes(cols int) int {
	d := &forms[f]
	if f.Integer() && cols&(1<<d.bits-1) != 0 {
		panic(fmt.Sprintf("layout: a matrix of %d columns has no whole groups of %d for %s", cols, f.Unit(), f))
	}
	return (cols + 1<<d.bits - 1) >> d.bits * d.panel
}

// RowBytes is the size of a row of cols columns as Pack reads it.
func (f Form) RowBytes(cols int) int { return cols * forms[f].row >> forms[f].bits }

func Panels(rows int) int { return (rows + PanelRows - 1) / PanelRows }
