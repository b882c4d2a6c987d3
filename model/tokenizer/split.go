package tokenizer

import (
	"fmt"
	"strings"
)

// behavior says what becomes of the matches of a split.
type behavior int

const (
	removed behavior = iota
	isolated
	mergedWithPrevious
	mergedWithNext
	contiguous
)

func parseBehavior(name, at string) (behavior, error) {
	for b, known := range []string{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"} {
		if name == known {
			return behavior(b), nil
		}
	}
	return 0, fmt.Errorf("%s.behavior: %q is not implemented (known: Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous)", at, name)
}

// literalMatches returns the ranges of all places where literal is in s.
func literalMatches(s, literal string) [][]int {
	var found [][]int
	for i := 0; ; {
		j := strings.Index(s[i:], literal)
		if j < 0 {
			return found
		}
		found = append(found, []int{i + j, i + j + len(literal)})
		i += j + len(literal)
	}
}

// runeMatches returns the range of each character for which is holds.
func runeMatches(s string, is func(rune) bool) [][]int {
	var found [][]int
	for i, r := range s {
		if is(r) {
			found = append(found, []int{i, i + len(string(r))})
		}
	}
	return found
}

// span is a range of a text, a match of the delimiter or the text between.
type span struct {
	start, end int
	match      bool
}

// splitSpans cuts s at the matches. With invert, matches and gaps change
// roles. Empty pieces are left out.
func splitSpans(s string, matches [][]int, b behavior, invert bool, emit func(start, end int)) {
	var spans []span
	at := 0
	add := func(start, end int, match bool) {
		if start < end {
			spans = append(spans, span{start, end, match != invert})
		}
	}
	for _, m := range matches {
		add(at, m[0], false)
		add(m[0], m[1], true)
		at = m[1]
	}
	add(at, len(s), false)

	for i := 0; i < len(spans); i++ {
		cur := spans[i]
		switch b {
		case removed:
			if cur.match {
				continue
			}
		case mergedWithPrevious:
			if !cur.match && i+1 < len(spans) && spans[i+1].match {
				i++
				cur.end = spans[i].end
			}
		case mergedWithNext:
			if cur.match && i+1 < len(spans) && !spans[i+1].match {
				i++
				cur.end = spans[i].end
			}
		case contiguous:
			for i+1 < len(spans) && spans[i+1].match == cur.match {
				i++
				cur.end = spans[i].end
			}
		}
		emit(cur.start, cur.end)
	}
}
