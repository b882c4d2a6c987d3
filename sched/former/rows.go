package former

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Rows hands out the rows [0, limit), one per admitted request. Order: the row
// that was given back last, otherwise the lowest row that was never used.
type Rows struct {
	limit    int
	fresh    messages.Row
	returned []messages.Row // stack
	used     []bool
}

// NewRows returns limit free rows.
func NewRows(limit int) *Rows {
	invariants.Check(limit >= 1, "a table of %d rows", limit)
	return &Rows{limit: limit, used: make([]bool, limit)}
}

// Limit is the number of rows.
func (r *Rows) Limit() int { return r.limit }

// Free is the number of rows that Take can still give.
func (r *Rows) Free() int { return len(r.returned) + r.limit - int(r.fresh) }

// Take returns a free row, or false when there is none.
func (r *Rows) Take() (messages.Row, bool) {
	var row messages.Row
	switch last := len(r.returned) - 1; {
	case last >= 0:
		row, r.returned = r.returned[last], r.returned[:last]
	case int(r.fresh) < r.limit:
		row = r.fresh
		r.fresh++
	default:
		return 0, false
	}
	r.used[row] = true
	return row, true
}

// Give takes a row back. Giving back a free row is a broken invariant.
func (r *Rows) Give(row messages.Row) {
	if row < 0 || int(row) >= r.limit {
		invariants.Fail("row %d given back, of %d rows", row, r.limit)
	}
	if !r.used[row] {
		invariants.Fail("row %d given back twice", row)
	}
	r.used[row] = false
	r.returned = append(r.returned, row)
}
