package former

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Rows hands out the rows [0, limit), one per admitted request: the row that was
// given back last, otherwise the lowest that was never used.
type Rows struct {
	free []messages.Row // stack
	used []bool         // by row
}

func NewRows(limit int) *Rows {
	invariants.Check(limit >= 1, "a table of %d rows", limit)
	r := &Rows{used: make([]bool, limit)}
	for row := limit - 1; row >= 0; row-- {
		r.free = append(r.free, messages.Row(row))
	}
	return r
}

func (r *Rows) Limit() int { return len(r.used) }

// Free is the number of rows that Take can still return.
func (r *Rows) Free() int { return len(r.free) }

// Take returns a free row, or false when there is none.
func (r *Rows) Take() (messages.Row, bool) {
	last := len(r.free) - 1
	if last < 0 {
		return 0, false
	}
	row := r.free[last]
	r.free, r.used[row] = r.free[:last], true
	return row, true
}

// Give takes a row back. Giving back a free row is a broken invariant.
func (r *Rows) Give(row messages.Row) {
	if row < 0 || int(row) >= len(r.used) {
		invariants.Fail("row %d given back, of %d rows", row, len(r.used))
	}
	if !r.used[row] {
		invariants.Fail("row %d given back twice", row)
	}
	r.used[row] = false
	r.free = append(r.free, row)
}
