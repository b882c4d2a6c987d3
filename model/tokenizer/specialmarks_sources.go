package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// chooseMarks decides what SpecialMarks returns. A character that can become a
// mark after the client wrote it must be followed like the mark.
func (t *Tokenizer) chooseMarks(tokens []addedToken) {
	marks, more := specialMarks(tokens)
	marks = withCases(marks)
	if t.normalizedSpecial {
		marks, t.noMarks = t.withSources(marks, tokens)
	}
	if t.noMarks == nil && len(marks) > MaxMarks {
		t.noMarks = fmt.Errorf("special tokens in messages can be distinguished from those of the template only by tracking %d different characters; at most %d are supported", len(marks), MaxMarks)
	}
	marks = append(marks, more[:max(0, min(len(more), MaxMarks-len(marks)))]...)
	t.marks, t.spread = marks, map[rune]int{}
	for _, r := range marks {
		if n := len(t.normalOf(r)); t.normalizedSpecial && n > 1 {
			t.spread[r] = n
		}
	}
}

// lastChanging is the end of the planes that have characters with a case or a
// decomposition. A test checks all characters after it.
const lastChanging = 0x2FFFF

// cases has the changes of case that simple folding does not connect.
var cases = map[rune][]rune{'i': {'İ'}, 'I': {'ı'}, 's': {'ß'}, 'S': {'ß'}} // SS is ß in capitals

// withCases adds the characters that a template's lower and upper make a mark of: only
// letters have such, and only tokens of nothing but letters have a letter as their mark.
func withCases(marks []rune) []rune {
	for i := 0; i < len(marks); i++ {
		var others []rune
		for r := unicode.SimpleFold(marks[i]); r != marks[i]; r = unicode.SimpleFold(r) {
			others = append(others, r)
		}
		slices.Sort(others)
		for _, r := range append(others, cases[marks[i]]...) {
			if !slices.Contains(marks, r) {
				marks = append(marks, r)
			}
		}
	}
	return marks
}

// withSources adds the characters that the normalizer makes a mark of, such as
// U+FF1C of "<" by NFKC. The error is the reason if they cannot be found.
func (t *Tokenizer) withSources(marks []rune, tokens []addedToken) ([]rune, error) {
	if guard := rune(0xFDD0); !slices.Equal(t.normalOf(guard), []rune{guard}) {
		return nil, fmt.Errorf("the tokenizer normalises text before it looks for special tokens, so special tokens in messages cannot be distinguished from those of the template")
	}
	var texts strings.Builder // what is looked for
	for _, tok := range tokens {
		if tok.Special && tok.Normalized {
			texts.WriteString(t.normal(tok.Content))
		}
	}
	wanted := map[rune]bool{}
	for _, m := range marks {
		for _, r := range t.normalOf(m) {
			if !strings.ContainsRune(texts.String(), r) {
				continue
			}
			if strings.ContainsRune(t.written, r) || norm.NFD.PropertiesString(string(r)).Decomposition() != nil {
				return nil, fmt.Errorf("the tokenizer's normalizer can produce %q, a character of special tokens, from other text, so special tokens in messages cannot be distinguished from those of the template", r)
			}
			wanted[r] = true
		}
	}
	for r := rune(0); r <= lastChanging; r++ {
		if unicode.ToLower(r) == r && norm.NFKD.PropertiesString(string(r)).Decomposition() == nil {
			continue // no step makes something else of it but what is in written
		}
		if slices.ContainsFunc(t.normalOf(r), func(to rune) bool { return wanted[to] }) && !slices.Contains(marks, r) {
			marks = append(marks, r)
		}
	}
	return marks, nil
}

// normalOf returns what a character within a text is after the normalizers.
func (t *Tokenizer) normalOf(r rune) []rune {
	around := len([]rune(t.normal("xx")))
	within := []rune(t.normal("x" + string(r) + "x"))
	if around == 0 || len(within) <= around {
		return nil
	}
	return within[around-1 : len(within)-1]
}
