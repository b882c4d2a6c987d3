package tokenizer

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMarks is how many characters SpecialMarks returns at most.
const MaxMarks = 32

// SpecialMarks returns characters of which every special token has at least one. A caller
// that records the origin of these characters in a text can tell the origin of every
// special token. The result includes the characters that become one of them by a change
// of case, or by the normalizer if special tokens are matched after it. Punctuation and
// characters at the ends of tokens are preferred. The error is the reason why there are
// none; callers add a remedy. The slice is frozen.
func (t *Tokenizer) SpecialMarks() ([]rune, error) {
	if t.noMarks != nil {
		return nil, t.noMarks
	}
	return t.marks, nil
}

// specialMarks chooses the characters: enough, and further ones at the ends of tokens.
func specialMarks(tokens []addedToken) (marks, more []rune) {
	var open []string // tokens without a mark
	for _, tok := range tokens {
		if tok.Special && tok.Content != "" {
			open = append(open, tok.Content)
		}
	}
	ends := map[rune]bool{}
	for _, text := range open {
		punctuation := strings.FieldsFunc(text, isWordOrSpace)
		if len(punctuation) > 0 {
			first, _ := utf8.DecodeRuneInString(punctuation[0])
			last, _ := utf8.DecodeLastRuneInString(punctuation[len(punctuation)-1])
			ends[first], ends[last] = true, true
		}
	}
	for len(open) > 0 {
		best, most := rune(0), -1
		for r, n := range countTokens(open) {
			n *= 4
			if !isWordOrSpace(r) {
				n += 2
			}
			if ends[r] {
				n++
			}
			if n > most || n == most && r < best {
				best, most = r, n
			}
		}
		marks = append(marks, best)
		open = slices.DeleteFunc(open, func(text string) bool { return strings.ContainsRune(text, best) })
	}
	for _, r := range slices.Sorted(maps.Keys(ends)) {
		if !slices.Contains(marks, r) {
			more = append(more, r)
		}
	}
	return marks, more
}

// countTokens counts the tokens that have each character.
func countTokens(tokens []string) map[rune]int {
	count := map[rune]int{}
	for _, text := range tokens {
		for _, r := range slices.Compact(slices.Sorted(slices.Values([]rune(text)))) {
			count[r]++
		}
	}
	return count
}

func isWordOrSpace(r rune) bool { return isWordChar(r) || unicode.IsSpace(r) }
