package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// all reports whether s is not empty and every character fits.
func all(s string, ok func(rune) bool) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0
}

func isLetterOrNumber(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// isUpper and isLower report whether s has characters of one case and none of
// the other.
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
func strip(left, right bool) func(*runtime, string, args) (any, error) {
	return func(rt *runtime, s string, a args) (any, error) {
		in := isSpace
		if chars := a.value(0, nil); chars != nil {
			set, err := needStr(chars)
			if err != nil {
				return nil, err
			}
			if err := rt.work(len(set)); err != nil {
				return nil, err
			}
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
		return s, nil
	}
}

// affixMethod is startswith and endswith, which also take a tuple.
func affixMethod(has func(s, affix string) bool) func(*runtime, string, args) (any, error) {
	return func(rt *runtime, s string, a args) (any, error) {
		part, _, err := rt.part(s, a)
		if err != nil {
			return nil, err
		}
		bare := rt.bare(part)
		options := []any{a.bound[0]}
		if t, ok := a.bound[0].(*Tuple); ok {
			options = t.items
		}
		for _, o := range options {
			affix, err := needStr(o)
			if err == nil {
				err = rt.work(1 + len(affix)/32)
			}
			if err != nil {
				return nil, err
			}
			if has(bare, rt.bare(affix)) {
				return true, nil
			}
		}
		return false, nil
	}
}

// part is s[start:end] of the arguments after the first one, and the position
// at which it starts.
func (rt *runtime) part(s string, a args) (string, int, error) {
	if !a.given(1) && !a.given(2) {
		return s, 0, nil
	}
	key := &sliceKey{lo: a.value(1, nil), hi: a.value(2, nil)}
	n, _, err := rt.length(s)
	if err != nil {
		return "", 0, err
	}
	start, _, _, err := key.bounds(n)
	if err != nil {
		return "", 0, err
	}
	part, err := rt.slice(s, key)
	if err != nil {
		return "", 0, err
	}
	return part.(string), start, nil
}

func removePrefixMethod(rt *runtime, s string, a args) (any, error) {
	affix, err := a.str(0, "")
	if err != nil {
		return nil, err
	}
	if bare, affix := rt.bare(s), rt.bare(affix); strings.HasPrefix(bare, affix) {
		return s[rt.unbared(s, len(affix)):], nil
	}
	return s, nil
}

func removeSuffixMethod(rt *runtime, s string, a args) (any, error) {
	affix, err := a.str(0, "")
	if err != nil {
		return nil, err
	}
	if bare, affix := rt.bare(s), rt.bare(affix); strings.HasSuffix(bare, affix) {
		return s[:rt.unbared(s, len(bare)-len(affix))], nil
	}
	return s, nil
}

// replaceMethod charges for the result before making it.
func replaceMethod(rt *runtime, s string, a args) (any, error) {
	from, err := a.str(0, "")
	if err != nil {
		return nil, err
	}
	to, err := a.str(1, "")
	if err != nil {
		return nil, err
	}
	n, err := a.int(2, -1)
	if err != nil {
		return nil, err
	}
	from = rt.bare(from)
	hits := strings.Count(rt.bare(s), from)
	if n >= 0 {
		hits = min(hits, n)
	}
	if err := rt.text(len(s) + hits*max(0, len(to)-len(from))); err != nil {
		return nil, err
	}
	if from != "" && rt.marked(s) {
		return strings.Join(rt.splitN(s, from, n), to), nil
	}
	return strings.Replace(s, from, to, n), nil
}

func countMethod(rt *runtime, s string, a args) (any, error) {
	sub, err := a.str(0, "")
	return int64(strings.Count(rt.bare(s), rt.bare(sub))), err
}

// findMethod counts positions in characters. must: not found is an error.
func findMethod(find func(s, sub string) int, must bool) func(*runtime, string, args) (any, error) {
	return func(rt *runtime, s string, a args) (any, error) {
		sub, err := a.str(0, "")
		if err != nil {
			return nil, err
		}
		part, start, err := rt.part(s, a)
		if err != nil {
			return nil, err
		}
		text := rt.bare(part) // character for character the same
		i := find(text, rt.bare(sub))
		if i < 0 && must {
			return nil, newErr(ValueError, "substring not found")
		}
		if i < 0 {
			return int64(-1), nil
		}
		return int64(start + utf8.RuneCountInString(text[:i])), nil
	}
}

func joinMethod(rt *runtime, s string, a args) (any, error) {
	items, err := rt.iterate(a.bound[0])
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		if _, ok := it.(string); !ok {
			return nil, typeErr("sequence item %d: expected str instance, %s found", i, typeName(it))
		}
	}
	return rt.join(items, s)
}

// join prints the items with sep between them.
func (rt *runtime) join(items []any, sep string) (any, error) {
	var b strings.Builder
	for i, it := range items {
		s, err := rt.str(it)
		if err != nil {
			return nil, err
		}
		if n := b.Len() + len(sep) + len(s); n > rt.valueBytes {
			return nil, rt.text(n)
		}
		if err := rt.text(len(sep) + len(s)); err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}
