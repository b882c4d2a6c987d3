package jinja

import (
	"iter"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// marks follow characters of the client's text through a rendering, so that
// afterwards those of the client and those of the template can be told apart.
//
// Each marked character is replaced, in the client's values, by a stand-in: a
// noncharacter of Unicode (U+FDD0 to U+FDEF) that neither the values nor the
// template have. One character takes the place of one, so lengths, indices and
// slices stay the same, whatever the template cuts out or joins. Comparisons and
// searches treat a stand-in as the character that it replaces. After the rendering
// the characters come back, and their places are known.
type marks struct {
	standIn map[rune]rune                        // by character
	char    [lastStandIn - firstStandIn + 1]rune // by stand-in; 0 for none
	first   [256]bool                            // bytes that begin a character, or a stand-in
}

// Rendered is a result in which the client's characters were followed.
type Rendered struct {
	Text string
	// Client are ranges [start, end) of bytes of Text, in order. Every marked
	// character in one is the client's, every one outside is the template's.
	// Text between two marked characters may come from either.
	Client [][2]int
}

// mark replaces the characters in the client's variables.
func (rt *runtime) mark(client map[string]any, chars []rune, used uint32) {
	for k := range client {
		rt.rewrite(rt.vars[k], func(s string) string {
			used |= standInsOf(s)
			return s
		})
	}
	m := &marks{standIn: make(map[rune]rune, len(chars))}
	m.first[standInStart[0]] = true
	free := ^used
	for _, c := range chars {
		if m.standIn[c] != 0 {
			continue
		}
		if free == 0 {
			panic(newErr(LimitError, "the texts use too many of the noncharacters U+FDD0 to U+FDEF, of which the server needs %d for itself; remove them", len(chars)))
		}
		i := bits.TrailingZeros32(free)
		free &^= 1 << i
		m.standIn[c], m.char[i] = firstStandIn+rune(i), c
		m.first[string(c)[0]] = true
	}
	rt.marks = m
	rt.valueBytes *= standInBytes // a stand-in may be three times as long as its character
	for k := range client {
		rt.vars[k] = rt.rewrite(rt.vars[k], rt.markText)
	}
}

// chars walks the characters of s that are followed and the stand-ins, and perhaps
// others, with their positions.
func (m *marks) chars(s string) iter.Seq2[int, rune] {
	return func(yield func(int, rune) bool) {
		for i := 0; i < len(s); {
			if !m.first[s[i]] {
				i++
				continue
			}
			r, n := utf8.DecodeRuneInString(s[i:])
			if !yield(i, r) {
				return
			}
			i += n
		}
	}
}

func (rt *runtime) markText(s string) string {
	var b strings.Builder
	done := 0
	for at, r := range rt.marks.chars(s) {
		if to, is := rt.marks.standIn[r]; is {
			if done == 0 {
				b.Grow(len(s))
			}
			b.WriteString(s[done:at])
			b.WriteRune(to)
			done = at + utf8.RuneLen(r)
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	rt.work(b.Len() / 8) // it is kept until the end
	return b.String()
}

// rewrite applies f to every text within a value. Unchanged parts are shared with it.
func (rt *runtime) rewrite(v any, f func(string) string) any {
	rt.work(1)
	switch x := v.(type) {
	case string:
		rt.text(len(x))
		return f(x)
	case *List:
		if items, changed := rt.rewriteAll(x.items, f); changed {
			return x.with(items)
		}
	case *Dict:
		keys, newKeys := rt.rewriteAll(x.keys, f)
		vals, newVals := rt.rewriteAll(x.vals, f)
		if !newKeys && !newVals {
			return v
		}
		if newKeys && x.index == nil {
			// The new keys are found by the texts that the client wrote.
			x = &Dict{keys: x.keys}
			x.reindex()
		}
		return &Dict{keys: keys, vals: vals, index: x.index}
	}
	return v
}

// rewriteAll is rewrite for items, and reports whether one changed.
func (rt *runtime) rewriteAll(items []any, f func(string) string) (out []any, changed bool) {
	out = items
	for i, it := range items {
		if v := rt.rewrite(it, f); v != it {
			if !changed {
				out, changed = slices.Clone(items), true
			}
			out[i] = v
		}
	}
	return out, changed
}

// settle puts the characters back and returns where they are.
func (m *marks) settle(s string) Rendered {
	var b strings.Builder
	var client [][2]int
	open := false // the last marked character was the client's
	done := 0
	for at, r := range m.chars(s) {
		c := m.bare(r)
		if c == r {
			_, marked := m.standIn[r]
			open = open && !marked
			continue
		}
		b.WriteString(s[done:at])
		done = at + standInBytes
		if !open {
			client = append(client, [2]int{b.Len(), 0})
		}
		b.WriteRune(c)
		client[len(client)-1][1] = b.Len()
		open = true
	}
	b.WriteString(s[done:])
	return Rendered{b.String(), client}
}
