package jinja

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

const (
	firstStandIn = 0xFDD0
	lastStandIn  = 0xFDEF
	standInBytes = 3
	// standInStart are the first two bytes of every stand-in in UTF-8.
	standInStart = "\xef\xb7"
)

// standInsOf returns the stand-ins of s, one bit each.
func standInsOf(s string) (set uint32) {
	for {
		i := strings.Index(s, standInStart)
		if i < 0 {
			return set
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= firstStandIn && r <= lastStandIn {
			set |= 1 << (r - firstStandIn)
		}
		s = s[i+n:]
	}
}

// The functions of this file read, search and cut texts with stand-ins as if they
// had the characters themselves.

// bare returns the character that the stand-in r replaces, and any other r.
func (m *marks) bare(r rune) rune {
	if m != nil && r >= firstStandIn && r <= lastStandIn && m.char[r-firstStandIn] != 0 {
		return m.char[r-firstStandIn]
	}
	return r
}

func (rt *runtime) bareRune(r rune) rune { return rt.marks.bare(r) }

// nextStandIn finds the first stand-in of s from i on, and its character; at is
// len(s) without one. The next work charges for the call.
func (rt *runtime) nextStandIn(s string, i int) (at int, char rune) {
	if rt.marks == nil {
		return len(s), 0
	}
	for {
		j := strings.Index(s[i:], standInStart)
		if j < 0 {
			return len(s), 0
		}
		i += j
		rt.hits++
		r, n := utf8.DecodeRuneInString(s[i:])
		if c := rt.bareRune(r); c != r {
			return i, c
		}
		i += n
	}
}

func (rt *runtime) marked(s string) bool {
	at, _ := rt.nextStandIn(s, 0)
	return at < len(s)
}

const keepBare = 256 // bytes from which on the last text and its bare are kept

// bare is s with its characters in place of the stand-ins.
func (rt *runtime) bare(s string) string {
	if rt.marks == nil {
		return s
	}
	if len(s) >= keepBare && len(s) == len(rt.last) && unsafe.StringData(s) == unsafe.StringData(rt.last) {
		return rt.lastBare
	}
	bare := s
	if at, c := rt.nextStandIn(s, 0); at < len(s) {
		var b strings.Builder
		b.Grow(len(s))
		done := 0
		for at < len(s) {
			b.WriteString(s[done:at])
			b.WriteRune(c)
			done = at + standInBytes
			at, c = rt.nextStandIn(s, done)
		}
		b.WriteString(s[done:])
		bare = b.String()
	}
	if len(s) >= keepBare {
		rt.last, rt.lastBare = s, bare
	}
	return bare
}

// firstRune returns the first character of s, and its length in s in bytes.
func (rt *runtime) firstRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	return rt.bareRune(r), n
}

// bareLen is len(bare(s)).
func (rt *runtime) bareLen(s string) int {
	n := len(s)
	for at, c := rt.nextStandIn(s, 0); at < len(s); at, c = rt.nextStandIn(s, at+standInBytes) {
		n += utf8.RuneLen(c) - standInBytes
	}
	return n
}

// unbare turns ascending offsets into bare(s) into offsets into s, in place.
func (rt *runtime) unbare(s string, at ...int) []int {
	i, j := 0, 0 // the same place in s and in bare(s)
	next, c := rt.nextStandIn(s, 0)
	for k, to := range at {
		for next < len(s) && j+next-i < to {
			j += next - i + utf8.RuneLen(c)
			i = next + standInBytes
			next, c = rt.nextStandIn(s, i)
		}
		at[k] = i + max(to-j, 0)
	}
	return at
}
