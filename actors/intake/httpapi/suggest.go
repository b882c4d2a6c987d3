package httpapi

import (
	"fmt"
	"slices"
	"strings"
)

// didYouMean finds the nearest of names, if any is near: one that has all words
// of name, as max_new_tokens has those of max_tokens, or else by edit distance.
func didYouMean(name string, names []string) string {
	words := strings.Split(name, "_")
	for _, n := range names {
		has := strings.Split(n, "_")
		if len(words) > 1 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
			return fmt.Sprintf("; did you mean %s?", n)
		}
	}
	limit := 1 + len(name)/3
	best, nearest := limit+1, ""
	for _, n := range names {
		if d := editDistance(name, n, limit); d < best {
			best, nearest = d, n
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", nearest)
}

// editDistance is Levenshtein's; more than limit when it is above it for sure.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > 64 {
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
