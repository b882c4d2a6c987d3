package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// What follows lets texts with stand-ins be read, searched and cut as if they
// had the characters themselves.

// bareRune is the character that r stands for.
func (rt *runtime) bareRune(r rune) rune {
	if rt.marks != nil && r >= firstStandIn && r <= lastStandIn {
		if c := rt.marks.char[r-firstStandIn]; c != 0 {
			return c
		}
	}
	return r
}

// marked tells whether s has stand-ins.
func (rt *runtime) marked(s string) bool {
	return rt.marks != nil && strings.Contains(s, standInStart) && rt.marks.has(standInsOf(s))
}

func (m *marks) has(set uint32) bool {
	for i, c := range m.char {
		if c != 0 && set&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// bare is s with its characters in place of the stand-ins.
func (rt *runtime) bare(s string) string {
	if !rt.marked(s) {
		return s
	}
	return strings.Map(rt.bareRune, s)
}

// eachBare applies f, which rewrites characters one by one, to the text and to
// what stand-ins stand for. A character that f leaves stays marked.
func (rt *runtime) eachBare(s string, f func(string) string) string {
	if !rt.marked(s) {
		return f(s)
	}
	var b strings.Builder
	done := 0
	for i, r := range s {
		c := rt.bareRune(r)
		if c == r {
			continue
		}
		b.WriteString(f(s[done:i]))
		done = i + standInBytes
		if to := f(string(c)); to != string(c) {
			b.WriteString(to)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteString(f(s[done:]))
	return b.String()
}

// bareKey is bare for a dict's key.
func (rt *runtime) bareKey(k any) any {
	if s, ok := asStr(k); ok && rt.marked(s) {
		return rt.bare(s)
	}
	return k
}

// bareLen is len(bare(s)).
func (rt *runtime) bareLen(s string) int {
	n := len(s)
	if !rt.marked(s) {
		return n
	}
	for i := 0; ; {
		j := strings.Index(s[i:], standInStart)
		if j < 0 {
			return n
		}
		i += j
		r, size := utf8.DecodeRuneInString(s[i:])
		n += utf8.RuneLen(rt.bareRune(r)) - size
		i += size
	}
}

// unbare turns ascending offsets into bare(s) into offsets into s, in place.
func (rt *runtime) unbare(s string, at []int) {
	i, j := 0, 0 // the same place in s and in bare(s)
	for k, to := range at {
		for j < to {
			r, n := utf8.DecodeRuneInString(s[i:])
			i += n
			if c := rt.bareRune(r); c != r {
				n = utf8.RuneLen(c)
			}
			j += n
		}
		at[k] = i
	}
}

// splitN is strings.SplitN by a separator that is bare and not empty.
func (rt *runtime) splitN(s, sep string, n int) []string {
	if !rt.marked(s) {
		return strings.SplitN(s, sep, n)
	}
	parts := strings.SplitN(rt.bare(s), sep, n)
	at := make([]int, 0, 2*len(parts))
	end := -len(sep)
	for _, p := range parts {
		at = append(at, end+len(sep), end+len(sep)+len(p))
		end = at[len(at)-1]
	}
	rt.unbare(s, at)
	for i := range parts {
		parts[i] = s[at[2*i]:at[2*i+1]]
	}
	return parts
}

// rsplitMarked splits at most limit times from the end, without a limit if it
// is negative.
func (rt *runtime) rsplitMarked(s, sep string, limit int) []string {
	bare := rt.bare(s)
	at := []int{len(bare)} // from the end: end of the last part, its start, …
	for end := len(bare); limit < 0 || len(at) <= 2*limit; {
		i := strings.LastIndex(bare[:end], sep)
		if i < 0 {
			break
		}
		at = append(at, i+len(sep), i)
		end = i
	}
	at = append(at, 0)
	slices.Reverse(at)
	rt.unbare(s, at)
	var parts []string
	for i := 0; i < len(at); i += 2 {
		parts = append(parts, s[at[i]:at[i+1]])
	}
	return parts
}
