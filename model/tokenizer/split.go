package tokenizer

import (
	"iter"
	"slices"
	"strings"
)

// behavior is what happens to the matches of a split.
type behavior int

const (
	removed behavior = iota
	isolated
	mergedWithPrevious
	mergedWithNext
	contiguous
)

var behaviors = []string{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}

func (c *component) behavior() (behavior, error) {
	b := slices.Index(behaviors, c.Behavior)
	if b < 0 {
		return 0, c.fail(".behavior: %q is not supported; supported: %s", c.Behavior, strings.Join(behaviors, ", "))
	}
	return behavior(b), nil
}

// joins reports whether neighbouring ranges, each a match or not, belong to one piece.
func (b behavior) joins(left, right bool) bool {
	switch b {
	case mergedWithPrevious:
		return !left && right
	case mergedWithNext:
		return left && !right
	case contiguous:
		return left == right
	}
	return false
}

// splitSpans cuts s at the matches, which it takes one by one, until emit
// returns false. With invert, matches and gaps change roles. Empty pieces are
// left out. It returns false if emit did.
func splitSpans(s string, matches iter.Seq2[int, int], b behavior, invert bool, emit func(start, end int) bool) bool {
	// The piece that is not emitted yet, as the next range may belong to it, and
	// whether its last range is a match.
	from, to, last := 0, 0, false
	add := func(start, end int, match bool) bool {
		if start == end || b == removed && match {
			return true
		}
		on := true
		if to != start || !b.joins(last, match) {
			on = from == to || emit(from, to)
			from = start
		}
		to, last = end, match
		return on
	}
	at := 0
	for start, end := range matches {
		if !add(at, start, invert) || !add(start, end, !invert) {
			return false
		}
		at = end
	}
	return add(at, len(s), invert) && (from == to || emit(from, to))
}
