package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// joiner is the character that x/text inserts into long runs of combining marks,
// to keep text stream-safe. No tokenizer expects that.
const joiner = "\u034F"

// normalForm normalizes s. Text with very long runs of combining marks takes a
// slow path that inserts nothing.
func normalForm(form norm.Form, s string) string {
	// No form removes the character or makes it of another one.
	if out := form.String(s); strings.Count(out, joiner) == strings.Count(s, joiner) {
		return out
	}
	decomposed := decompose(form, s)
	if form == norm.NFC || form == norm.NFKC {
		decomposed = compose(decomposed)
	}
	return string(decomposed)
}

// decompose returns the canonically ordered full decomposition of s.
func decompose(form norm.Form, s string) []rune {
	full := norm.NFD
	if form == norm.NFKC || form == norm.NFKD {
		full = norm.NFKD
	}
	out := make([]rune, 0, len(s)/2)
	var buf []byte
	for i, r := range s {
		buf = full.AppendString(buf[:0], s[i:i+utf8.RuneLen(r)])
		out = append(out, []rune(string(buf))...)
	}
	for start := 0; start < len(out); start++ {
		end := start
		for end < len(out) && class(out[end]) != 0 {
			end++
		}
		sortByClass(out[start:end])
		start = end
	}
	return out
}

// sortByClass sorts marks by their class and leaves equals in order.
func sortByClass(run []rune) {
	keys := make([]uint64, len(run)) // class, place, character
	for i, r := range run {
		keys[i] = uint64(class(r))<<56 | uint64(i)<<21 | uint64(r)
	}
	slices.Sort(keys)
	for i, k := range keys {
		run[i] = rune(k & (1<<21 - 1))
	}
}

// compose joins each character with the last starter before it unless a
// character of the same or a higher class, or another starter, is between them.
func compose(in []rune) []rune {
	out := make([]rune, 0, len(in))
	starter := -1
	var lastClass uint8
	for _, r := range in {
		c := class(r)
		adjacent := starter >= 0 && starter == len(out)-1
		if starter >= 0 && (adjacent || (lastClass != 0 && lastClass < c)) {
			if joined, ok := composePair(out[starter], r); ok {
				out[starter] = joined
				continue
			}
		}
		out = append(out, r)
		if lastClass = c; c == 0 {
			starter = len(out) - 1
		}
	}
	return out
}

func composePair(a, b rune) (rune, bool) {
	var in, out [2 * utf8.UTFMax]byte
	s := norm.NFC.Append(out[:0], utf8.AppendRune(utf8.AppendRune(in[:0], a), b)...)
	r, n := utf8.DecodeRune(s)
	return r, n == len(s)
}

// class is the canonical combining class of r.
func class(r rune) uint8 {
	if r < 0x300 {
		return 0
	}
	var buf [utf8.UTFMax]byte
	return norm.NFD.Properties(utf8.AppendRune(buf[:0], r)).CCC()
}
