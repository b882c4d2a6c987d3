package httpapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/internal/suggest"
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
	if nearest := suggest.Nearest(name, names, 1+len(name)/3); nearest != "" {
		return fmt.Sprintf("; did you mean %s?", nearest)
	}
	return ""
}
