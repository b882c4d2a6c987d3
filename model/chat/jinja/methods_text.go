package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// all reports whether s is not empty and every character fits.
func all(s string, ok func(rune) bool) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0
}

func isLetterOrNumber(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// isUpper and isLower report whether s has characters of one case and none of the other.
func isUpper(s string) bool { return cased(s, unicode.IsUpper, unicode.IsLower) }
func isLower(s string) bool { return cased(s, unicode.IsLower, unicode.IsUpper) }

func cased(s string, want, other func(rune) bool) bool {
	none := func(r rune) bool { return other(r) || unicode.IsTitle(r) }
	return strings.IndexFunc(s, none) < 0 && strings.IndexFunc(s, want) >= 0
}

// upper is Python's upper: ß becomes two letters.
func upper(s string) string {
	return strings.ToUpper(strings.ReplaceAll(s, "ß", "SS"))
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return upper(s[:n]) + strings.ToLower(s[n:])
}

// title is str.title: it raises a letter that follows another character.
func title(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		letter := unicode.IsLetter(r)
		switch {
		case letter && inWord:
			r = unicode.ToLower(r)
		case letter:
			r = unicode.ToTitle(r)
		}
		inWord = letter
		return r
	}, s)
}

// strip removes whitespace, or the characters of chars, from the ends.
func strip(left, right bool) textFunc {
	return func(rt *runtime, s string, a args) any {
		in := isSpace
		if chars := a.value(0, nil); chars != nil {
			set := needStr(chars)
			rt.work(len(set))
			member := map[rune]bool{}
			for _, r := range rt.bare(set) {
				member[r] = true
			}
			in = func(r rune) bool { return member[rt.bareRune(r)] }
		}
		if left {
			s = strings.TrimLeftFunc(s, in)
		}
		if right {
			s = strings.TrimRightFunc(s, in)
		}
		return s
	}
}

// affixMethod is startswith and endswith, which also take a tuple.
func affixMethod(has func(s, affix string) bool) textFunc {
	return func(rt *runtime, s string, a args) any {
		part, _ := rt.part(s, a)
		bare := rt.bare(part)
		options := []any{a.pos[0]}
		if t, ok := a.pos[0].(*List); ok && t.tuple {
			options = t.items
		}
		return slices.ContainsFunc(options, func(o any) bool {
			affix := needStr(o)
			rt.work(1 + len(affix)/32)
			return has(bare, rt.bare(affix))
		})
	}
}

// part is s[start:end] of the arguments after the first one, and its position.
func (rt *runtime) part(s string, a args) (string, int) {
	key := &sliceKey{lo: a.value(1, nil), hi: a.value(2, nil)}
	if key.lo == nil && key.hi == nil {
		return s, 0
	}
	n, _ := rt.length(s)
	start, _, _ := key.bounds(n)
	return rt.slice(s, key).(string), start
}

// removeAffix is removeprefix and, if atEnd, removesuffix.
func removeAffix(has func(s, affix string) bool, atEnd bool) textFunc {
	return func(rt *runtime, s string, a args) any {
		affix, bare := rt.bare(a.str(0)), rt.bare(s)
		switch {
		case !has(bare, affix):
			return s
		case atEnd:
			return s[:rt.unbare(s, len(bare)-len(affix))[0]]
		}
		return s[rt.unbare(s, len(affix))[0]:]
	}
}

// replaceMethod charges for the result before making it.
func replaceMethod(rt *runtime, s string, a args) any {
	from, to, n := rt.bare(a.str(0)), a.str(1), a.int(2, -1)
	hits := strings.Count(rt.bare(s), from)
	if n >= 0 {
		hits = min(hits, n)
	}
	rt.text(len(s) + hits*max(0, len(to)-len(from)))
	if from != "" && rt.marked(s) {
		return strings.Join(rt.splitN(s, from, n, false), to)
	}
	return strings.Replace(s, from, to, n)
}

func countMethod(rt *runtime, s string, a args) any {
	sub := a.str(0)
	return int64(strings.Count(rt.bare(s), rt.bare(sub)))
}

// findMethod counts positions in characters. must: not found is an error.
func findMethod(find func(s, sub string) int, must bool) textFunc {
	return func(rt *runtime, s string, a args) any {
		sub := a.str(0)
		part, start := rt.part(s, a)
		text := rt.bare(part) // character for character the same
		i := find(text, rt.bare(sub))
		switch {
		case i >= 0:
			return int64(start + utf8.RuneCountInString(text[:i]))
		case must:
			panic(newErr(ValueError, "substring not found"))
		}
		return int64(-1)
	}
}

func joinMethod(rt *runtime, s string, a args) any {
	items := rt.iterate(a.pos[0])
	for i, it := range items {
		if !is[string](it) {
			panic(typeErr("sequence item %d: expected str instance, %s found", i, typeName(it)))
		}
	}
	return rt.join(items, s)
}

func (rt *runtime) join(items []any, sep string) any {
	var b strings.Builder
	for i, it := range items {
		s := rt.str(it)
		if n := b.Len() + len(sep) + len(s); n > rt.valueBytes {
			rt.text(n)
		}
		rt.text(len(sep) + len(s))
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(s)
	}
	return b.String()
}
