package kernel

import "fmt"

// PanelRows is the number of rows of a panel.
const PanelRows = 32

// GroupCols is the number of columns that share a scale in the forms of
// integers.
const GroupCols = 32

// Form is how the elements of a matrix lie in a panel.
type Form uint8

// The forms. In brackets the order in memory, the last one running fastest.
const (
	// F32 is [column][row] float32.
	F32 Form = iota
	// BF16 is [pair of columns][row][2] bfloat16, columns filled up to pairs.
	BF16
	// F16 is [column][row] float16.
	F16
	// Q8 is, for each group of 32 columns, [8][row][4] bytes, value + 128, and
	// then 32 float16, the scale of each row. 34 bytes for 32 weights, as Q8_0
	// has.
	Q8
	// Q4 is, for each group of 32 columns, [4][row][4] bytes and then 32
	// float16, the scale of each row. Byte [s][r][i] has in its low half column
	// 4s+i, in its high half column 16+4s+i, value + 8. 18 bytes for 32 weights,
	// as Q4_0 has.
	Q4
)

var forms = [...]string{F32: "f32", BF16: "bf16", F16: "f16", Q8: "q8", Q4: "q4"}

// String gives the name used in logs.
func (f Form) String() string { return forms[f] }

// Integer reports whether weights are integers with scales, so that columns
// come in groups.
func (f Form) Integer() bool { return f >= Q8 }

// Bytes a group of 32 columns takes in a panel.
const (
	q8Group = 8*PanelRows*4 + 2*PanelRows
	q4Group = 4*PanelRows*4 + 2*PanelRows
)

// PanelBytes is the size of a panel of so many columns: a multiple of 64.
func (f Form) PanelBytes(cols int) int {
	switch f {
	case F32:
		return cols * PanelRows * 4
	case BF16:
		return (cols + 1) / 2 * PanelRows * 4
	case F16:
		return cols * PanelRows * 2
	}
	if cols%GroupCols != 0 {
		panic(fmt.Sprintf("kernel: a matrix of %d columns has no whole groups of %d for %s", cols, GroupCols, f))
	}
	if f == Q8 {
		return cols / GroupCols * q8Group
	}
	return cols / GroupCols * q4Group
}

// Panels is the number of panels of so many rows.
func Panels(rows int) int { return (rows + PanelRows - 1) / PanelRows }
