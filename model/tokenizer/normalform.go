package tokenizer

import (
	"slices"
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
		if p.LeadCCC() == 0 {
			run = 0
		}
		if p.LeadCCC() != 0 || p.TrailCCC() != 0 {
			if run += 4; run > maxMarks {
				return true
			}
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
	out := make([]rune, 0, len(s)/2)
	var buf []byte
	for i, r := range s {
		if r < utf8.RuneSelf {
			out = append(out, r)
			continue
		}
		buf = full.AppendString(buf[:0], s[i:i+utf8.RuneLen(r)])
		for b := buf; len(b) > 0; {
			part, n := utf8.DecodeRune(b)
			out, b = append(out, part), b[n:]
		}
	}
	var other []rune
	for start := 0; start < len(out); {
		if class(out[start]) == 0 {
			start++
			continue
		}
		end := start
		for end < len(out) && class(out[end]) != 0 {
			end++
		}
		other = sortByClass(out[start:end], other)
		start = end
	}
	return out
}

// sortByClass sorts marks by their class and leaves equals in order. A run may
// be all of a long text, so it counts; other is scratch memory.
func sortByClass(run, other []rune) []rune {
	if len(run) < 32 {
		slices.SortStableFunc(run, func(a, b rune) int { return int(class(a)) - int(class(b)) })
		return other
	}
	var place [257]int
	for _, r := range run {
		place[int(class(r))+1]++
	}
	for c := range 256 {
		place[c+1] += place[c]
	}
	other = append(other[:0], run...)
	for _, r := range other {
		c := class(r)
		run[place[c]] = r
		place[c]++
	}
	return other
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
