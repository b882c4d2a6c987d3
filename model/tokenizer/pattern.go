package tokenizer

import (
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// regexLimit is the longest a regular expression of the file may work on one
// piece. The limit is there for patterns that backtrack exponentially.
const regexLimit = 5 * time.Second

// matchesAtOnce is the longest text in bytes of which all matches are found
// before the first is used, which is faster.
const matchesAtOnce = 1 << 18

// pattern finds matches in text: a literal, a well-known regular expression
// with a hand-written splitter, or any other one.
type pattern struct {
	literal string
	regex   *regexp2.Regexp
	source  string // the regular expression, empty for a literal
}

// filePattern is {"String": …} or {"Regex": …}.
type filePattern struct{ String, Regex *string }

func (c *component) pattern() (pattern, error) {
	literal, regex := c.Pattern.String, c.Pattern.Regex
	switch {
	case (literal == nil) == (regex == nil):
		return pattern{}, c.fail(".pattern must have exactly one of String and Regex; use the model's original file")
	case regex != nil:
		return compileRegex(*regex, c.at+".pattern.Regex")
	case *literal == "":
		return pattern{}, c.fail(".pattern.String is empty; it would match everywhere; use the model's original file")
	}
	return pattern{literal: *literal}, nil
}

func compileRegex(source, at string) (pattern, error) {
	re, err := regexp2.Compile(source)
	if err != nil {
		return pattern{}, fmt.Errorf("%s: %w; use the model's original file", at, err)
	}
	re.MatchTimeout = regexLimit
	return pattern{regex: re, source: source}, nil
}

// matches walks the byte ranges [start, end) of all matches, in order, empty
// ones left out. A search that exceeds regexLimit finds nothing more.
func (p pattern) matches(s string) iter.Seq2[int, int] {
	if p.regex == nil {
		return literalMatches(s, p.literal)
	}
	return func(yield func(int, int) bool) {
		if len(s) > matchesAtOnce {
			p.walk(s, yield)
			return
		}
		all, err := p.regex.FindAllStringIndex(s, -1)
		if err != nil {
			return
		}
		for _, m := range all {
			if m[0] < m[1] && !yield(m[0], m[1]) {
				return
			}
		}
	}
}

// walk finds one match after the other, so that a long text takes no memory for
// all of them, and a reader that stops ends the search.
func (p pattern) walk(s string, yield func(int, int) bool) {
	runes, at := 0, 0 // one place, in characters and in bytes
	place := func(to int) int {
		for ; runes < to; runes++ {
			_, n := utf8.DecodeRuneInString(s[at:])
			at += n
		}
		return at
	}
	// The error is the time limit's.
	_ = p.regex.FindRunesMatches([]rune(s), -1, func(m regexp2.MatchView) bool {
		first, n, _ := m.GroupRange(0)
		if n == 0 {
			return true
		}
		start := place(first)
		return yield(start, place(first+n))
	})
}

// literalMatches walks the ranges [start, end) of all places where literal is in s.
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
