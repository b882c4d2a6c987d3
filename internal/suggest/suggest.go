// Package suggest finds the known name that is nearest to a mistyped one.
package suggest

// Nearest is the first known name at the least edit distance; "" if none is in limit.
func Nearest(name string, known []string, limit int) string {
	best, at := limit+1, ""
	for _, k := range known {
		if d := distance(name, k, limit); d < best {
			best, at = d, k
		}
	}
	return at
}

// maxName bounds the work on long names, in bytes.
const maxName = 64

// distance is Levenshtein's, or any number above limit if it exceeds limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > maxName {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
