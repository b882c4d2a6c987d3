package measure

import "fmt"

// Notes are what a reader of figures must know besides.
type Notes []string

func (n *Notes) If(when bool, format string, args ...any) {
	if when {
		*n = append(*n, fmt.Sprintf(format, args...))
	}
}
