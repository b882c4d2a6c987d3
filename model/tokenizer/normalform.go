package tokenizer

import (
	"sort"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxMarks is the run of combining marks from which on x/text inserts
// U+034F to keep text stream-safe, which no tokenizer expects.
const maxMarks = 28

// normalForm normalizes s. Text with very long runs of combining marks takes a
// slow path that inserts nothing.
func normalForm(form norm.Form, s string) string {
	if form.IsNormalString(s) && !longMarks(s) {
		return s
	}
	if !longMarks(s) {
		return form.String(s)
	}
	decomposed := decompose(form, s)
	if form == norm.NFC || form == norm.NFKC {
		decomposed = compose(decomposed)
	}
	return string(decomposed)
}

// longMarks reports a run of characters that could reach x/text's limit. One
// character decomposes into at most four marks.
func longMarks(s string) bool {
	run := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			run, i = 0, i+1
			continue
		}
		p := norm.NFKD.PropertiesString(s[i:])
		if p.CCC() == 0 && p.TrailCCC() == 0 {
			run = 0
		} else if run += 4; run > maxMarks {
			return true
		}
		i += max(p.Size(), 1)
	}
	return false
}

// decompose returns the canonically ordered full decomposition of s.
func decompose(form norm.Form, s string) []rune {
	full := norm.NFD
	if form == norm.NFKC || form == norm.NFKD {
		full = norm.NFKD
	}
	var out []rune
	for _, r := range s {
		out = append(out, []rune(full.String(string(r)))...)
	}
	for start := 0; start < len(out); {
		if class(out[start]) == 0 {
			start++
			continue
		}
		end := start
		for end < len(out) && class(out[end]) != 0 {
			end++
		}
		run := out[start:end]
		sort.SliceStable(run, func(i, j int) bool { return class(run[i]) < class(run[j]) })
		start = end
	}
	return out
}

// compose joins each character with the last starter before it unless a
// character of the same or a higher class, or another starter, stands between.
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
	s := norm.NFC.String(string([]rune{a, b}))
	r, n := utf8.DecodeRuneInString(s)
	return r, n == len(s)
}

// class is the canonical combining class of r.
func class(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }
