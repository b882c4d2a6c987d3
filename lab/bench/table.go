package bench

import (
	"strings"
	"unicode/utf8"
)

// Table is aligned Markdown; its first row is the head. Numbers stand right.
type Table struct {
	rows  [][]string
	lefts map[int]bool
}

// Row begins a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Add appends to the last row.
func (t *Table) Add(cells ...string) {
	last := len(t.rows) - 1
	t.rows[last] = append(t.rows[last], cells...)
}

// Left names the columns of words, which stand left.
func (t *Table) Left(columns ...int) {
	t.lefts = map[int]bool{}
	for _, c := range columns {
		t.lefts[c] = true
	}
}

// String draws it.
func (t *Table) String() string {
	widths := make([]int, len(t.rows[0]))
	for i := range widths {
		widths[i] = 2 // Markdown wants a dash beside the colon
	}
	for _, r := range t.rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, r := range t.rows {
		for i, cell := range r {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.lefts[i] {
				cell, space = space, cell
			}
			b.WriteString("| " + space + cell + " ")
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for i, w := range widths {
			dashes := strings.Repeat("-", w)
			if !t.lefts[i] {
				dashes = dashes[1:] + ":"
			}
			b.WriteString("| " + dashes + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}
