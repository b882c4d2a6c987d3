package bench

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Markdown aligns columns to the right, those in left to the left. The head is first.
func Markdown(rows [][]string, left ...int) string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 2) // Markdown needs a dash beside the colon
		}
	}
	rule := make([]string, len(widths))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w-1) + ":"
	}
	for _, i := range left {
		rule[i] = strings.Repeat("-", widths[i])
		widths[i] = -widths[i] // which Fprintf aligns left
	}
	var b strings.Builder
	for _, r := range slices.Insert(slices.Clone(rows), 1, rule) {
		for i, cell := range r {
			fmt.Fprintf(&b, "| %*s ", widths[i], cell)
		}
		b.WriteString("|\n")
	}
	return b.String()
}
