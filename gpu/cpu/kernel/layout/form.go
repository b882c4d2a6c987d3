// Package layout defines how the kernels store weights in memory.
//
// A matrix [rows, cols] is stored in panels of 32 rows. Within a panel the
// elements of a column are neighbours, so the dot product of a row runs along the
// columns in one lane, in order. The last panel is padded with rows of zeros. Form
// lists the encodings of the elements.
package layout

import "fmt"

// PanelRows is the number of rows of a panel.
const PanelRows = 32

// GroupCols is the number of columns that share a scale in the forms of
// integers.
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
	// Q8 is, for each group of 32 columns, [8][row][4] bytes, value + 128, and
	// then 32 float16, the scale of each row. 34 bytes for 32 weights, as in
	// Q8_0.
	Q8
	// Q4 is, for each group of 32 columns, [4][row][4] bytes and then 32
	// float16, the scale of each row. Byte [s][r][i] holds value + 8 of column 4s+i
	// in its low half and of column 16+4s+i in its high half. 18 bytes for 32
	// weights, as in Q4_0.
	Q4
	// Q41 is, for each group of 32 columns, bytes as in Q4 without the offset, 32
	// float16 d and 32 float16 m: a weight is d*value + m. 20 bytes for 32 weights,
	// as in Q4_1.
	Q41
	// Q4K is, for each block of 256 columns, 32 float16 d and 32 float16 m, and
	// then for each of its 8 groups of 32 columns bytes as in Q41, 32 bytes s and
	// 32 bytes t, 0 to 63: a weight is d*s*value - m*t. 148 bytes for 256
	// weights, 4 more than in Q4_K.
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

var forms = [...]string{F32: "f32", BF16: "bf16", F16: "f16", Q8: "q8", Q4: "q4", Q41: "q4_1", Q4K: "q4_k", Q6K: "q6_k"}

// String gives the name used in logs.
func (f Form) String() string { return forms[f] }

// Integer reports whether weights are integers with scales; columns then come in
// groups.
func (f Form) Integer() bool { return f >= Q8 }

// Unit is the number of columns of which every range is a multiple.
func (f Form) Unit() int {
	switch f {
	case F32, F16:
		return 1
	case BF16:
		return 2
	case Q4K, Q6K:
		return blockGroups * GroupCols
	}
	return GroupCols
}

// Bytes of a group of 32 columns in a panel.
const (
	q8Group = 8*PanelRows*4 + 2*PanelRows
	q4Group = 4*PanelRows*4 + 2*PanelRows
)

// PanelBytes is the size of a panel of cols columns: a multiple of 64.
func (f Form) PanelBytes(cols int) int {
	switch f {
	case F32:
		return cols * PanelRows * 4
	case BF16:
		return (cols + 1) / 2 * PanelRows * 4
	case F16:
		return cols * PanelRows * 2
	}
	if unit := f.Unit(); cols%unit != 0 {
		panic(fmt.Sprintf("layout: a matrix of %d columns has no whole groups of %d for %s", cols, unit, f))
	}
	switch f {
	case Q4:
		return cols / GroupCols * q4Group
	case Q41:
		return cols / GroupCols * q41Group
	case Q4K:
		return cols / GroupCols / blockGroups * q4kBlock
	case Q6K:
		return cols / GroupCols / blockGroups * q6kBlock
	}
	return cols / GroupCols * q8Group
}

// Panels is the number of panels of a matrix with so many rows.
func Panels(rows int) int { return (rows + PanelRows - 1) / PanelRows }
