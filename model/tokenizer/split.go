package tokenizer

import (
	"iter"
	"slices"
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

var behaviors = []string{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}

func (c *component) behavior() (behavior, error) {
	b := slices.Index(behaviors, c.Behavior)
	if b < 0 {
		return 0, c.fail(".behavior: %q is not supported (supported: %s)", c.Behavior, strings.Join(behaviors, ", "))
	}
	return behavior(b), nil
}

// literalMatches walks the ranges [start, end) of all places where literal is
// in s.
func literalMatches(s, literal string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := 0; ; {
			j := strings.Index(s[i:], literal)
			if j < 0 || !yield(i+j, i+j+len(literal)) {
				return
			}
			i += j + len(literal)
		}
	}
}

// runeMatches walks the range of each character for which is holds.
func runeMatches(s string, is func(rune) bool) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i, r := range s {
			if is(r) && !yield(i, i+len(string(r))) {
				return
			}
		}
	}
}

// span is a range of a text, a match of the delimiter or the text between.
type span struct {
	start, end int
	match      bool
}

// splitSpans cuts s at the matches, which it asks for one by one, until emit
// returns false. With invert, matches and gaps change roles. Empty pieces are
// left out. It returns false if emit did.
func splitSpans(s string, matches iter.Seq2[int, int], b behavior, invert bool, emit func(start, end int) bool) bool {
	c := cutter{behavior: b, emit: emit}
	at, on := 0, true
	for start, end := range matches {
		on = c.add(span{at, start, invert}) && c.add(span{start, end, !invert})
		if at = end; !on {
			return false
		}
	}
	return c.add(span{at, len(s), invert}) && c.flush()
}

// cutter joins spans to pieces as the behavior says. It holds one back, which
// the next may belong to.
type cutter struct {
	behavior
	held span // empty for none
	emit func(start, end int) bool
}

func (c *cutter) add(s span) bool {
	if s.start == s.end || c.behavior == removed && s.match {
		return true
	}
	joins := false
	if c.held.end > c.held.start && c.held.end == s.start {
		switch c.behavior {
		case mergedWithPrevious:
			joins = !c.held.match && s.match
		case mergedWithNext:
			joins = c.held.match && !s.match
		case contiguous:
			joins = c.held.match == s.match
		}
	}
	if joins {
		c.held.end = s.end
		// A pair is whole; only runs go on.
		return c.behavior == contiguous || c.flush()
	}
	on := c.flush()
	c.held = s
	if c.behavior == removed || c.behavior == isolated {
		on = on && c.flush()
	}
	return on
}

// flush emits what is held back.
func (c *cutter) flush() bool {
	s := c.held
	c.held = span{}
	return s.start == s.end || c.emit(s.start, s.end)
}
