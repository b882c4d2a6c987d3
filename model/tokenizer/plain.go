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

// normalizeAround normalizes a text with plain parts, and finds these parts in
// the result. For that it inserts a noncharacter, which no normalizer changes,
// before each mark in them, and removes it afterwards.
func (t *Tokenizer) normalizeAround(text string, where specials) (string, specials) {
	if len(where.plain) == 0 {
		return t.normal(text), where
	}
	guard := rune(0)
	for r := rune(0xFDD0); r <= 0xFDEF; r++ {
		if !strings.ContainsRune(text, r) {
			guard = r
			break
		}
	}
	if guard == 0 { // such a text has no special token at all
		return t.normal(text), specials{}
	}
	var b strings.Builder
	var of []int // how many characters each guarded mark becomes
	done := 0
	for _, r := range where.plain {
		for i, c := range text[r[0]:r[1]] {
			if slices.Contains(t.marks, c) {
				b.WriteString(text[done : r[0]+i])
				b.WriteRune(guard)
				of = append(of, max(1, t.spread[c]))
				done = r[0] + i
			}
		}
	}
	b.WriteString(text[done:])
	normal := t.normal(b.String())
	out := specials{parse: where.parse}
	b.Reset()
	after := 0 // characters to come that a mark became
	seen := 0
	for i, c := range normal {
		if c == guard {
			after = of[min(seen, len(of)-1)]
			seen++
			continue
		}
		if after > 0 {
			out.plain = append(out.plain, [2]int{b.Len(), b.Len() + utf8.RuneLen(c)})
			after--
		}
		b.WriteString(normal[i : i+utf8.RuneLen(c)])
	}
	return b.String(), out
}
