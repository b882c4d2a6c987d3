package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// strMethods are Python's str methods. Each charges for the text it reads or
// makes before the work.
var strMethods map[string]method

// strMethod wraps a function over the receiver's text.
func strMethod(f func(rt *runtime, s string, a *Args) (any, error)) method {
	return func(rt *runtime, recv any, a *Args) (any, error) {
		s, _ := asStr(recv)
		if err := rt.text(len(s)); err != nil {
			return nil, err
		}
		return f(rt, s, a)
	}
}

// simple wraps a function without arguments.
func simple(name string, f func(s string) any) method {
	return strMethod(func(_ *runtime, s string, a *Args) (any, error) {
		if _, err := a.Bind(name); err != nil {
			return nil, err
		}
		return f(s), nil
	})
}

// asks is simple for what only asks about the characters.
func asks(name string, f func(s string) any) method {
	return strMethod(func(rt *runtime, s string, a *Args) (any, error) {
		if _, err := a.Bind(name); err != nil {
			return nil, err
		}
		return f(rt.bare(s)), nil
	})
}

func init() {
	strMethods = map[string]method{
		"strip":        stripMethod("strip", true, true),
		"lstrip":       stripMethod("lstrip", true, false),
		"rstrip":       stripMethod("rstrip", false, true),
		"split":        strMethod(splitMethod),
		"rsplit":       strMethod(rsplitMethod),
		"splitlines":   strMethod(splitLinesMethod),
		"partition":    strMethod(partitionMethod(strings.Index, false)),
		"rpartition":   strMethod(partitionMethod(strings.LastIndex, true)),
		"startswith":   strMethod(affixMethod("startswith", strings.HasPrefix)),
		"endswith":     strMethod(affixMethod("endswith", strings.HasSuffix)),
		"removeprefix": strMethod(cutMethod("removeprefix", strings.TrimPrefix)),
		"removesuffix": strMethod(cutMethod("removesuffix", strings.TrimSuffix)),
		"replace":      strMethod(replaceMethod),
		"join":         strMethod(joinMethod),
		"find":         strMethod(findMethod("find", strings.Index, false)),
		"rfind":        strMethod(findMethod("rfind", strings.LastIndex, false)),
		"index":        strMethod(findMethod("index", strings.Index, true)),
		"rindex":       strMethod(findMethod("rindex", strings.LastIndex, true)),
		"count":        strMethod(countMethod),
		"center":       strMethod(padMethod("center", 2)),
		"ljust":        strMethod(padMethod("ljust", 0)),
		"rjust":        strMethod(padMethod("rjust", 1)),
		"zfill":        strMethod(zfillMethod),
		"format":       strMethod(func(rt *runtime, s string, a *Args) (any, error) { return rt.format(s, a) }),
		"upper":        simple("upper", func(s string) any { return upper(s) }),
		"lower":        simple("lower", func(s string) any { return strings.ToLower(s) }),
		"casefold":     simple("casefold", func(s string) any { return strings.ReplaceAll(strings.ToLower(s), "ß", "ss") }),
		"title":        simple("title", func(s string) any { return title(s) }),
		"capitalize":   simple("capitalize", func(s string) any { return capitalize(s) }),
		"swapcase":     simple("swapcase", func(s string) any { return strings.Map(swapCase, s) }),
		"isspace":      asks("isspace", func(s string) any { return all(s, isSpace) }),
		"isalpha":      asks("isalpha", func(s string) any { return all(s, unicode.IsLetter) }),
		"isdigit":      asks("isdigit", func(s string) any { return all(s, unicode.IsDigit) }),
		"isdecimal":    asks("isdecimal", func(s string) any { return all(s, unicode.IsDigit) }),
		"isnumeric":    asks("isnumeric", func(s string) any { return all(s, unicode.IsNumber) }),
		"isalnum": asks("isalnum", func(s string) any {
			return all(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
		}),
		"isascii": asks("isascii", func(s string) any { return s == "" || all(s, func(r rune) bool { return r < 0x80 }) }),
		"isupper": asks("isupper", func(s string) any { return cased(s, unicode.IsUpper, unicode.IsLower) }),
		"islower": asks("islower", func(s string) any { return cased(s, unicode.IsLower, unicode.IsUpper) }),
	}
}

// all reports whether s is not empty and every character fits.
func all(s string, ok func(rune) bool) bool {
	for _, r := range s {
		if !ok(r) {
			return false
		}
	}
	return s != ""
}

// cased reports whether s has a character of the wanted case and none of the other.
func cased(s string, want, other func(rune) bool) bool {
	found := false
	for _, r := range s {
		if other(r) || unicode.IsTitle(r) {
			return false
		}
		found = found || want(r)
	}
	return found
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// upper is Python's upper: ß becomes two letters.
func upper(s string) string {
	if strings.ContainsRune(s, 'ß') {
		s = strings.ReplaceAll(s, "ß", "SS")
	}
	return strings.ToUpper(s)
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return upper(s[:n]) + strings.ToLower(s[n:])
}

// title is str.title: a letter after a character that is no letter is raised.
func title(s string) string {
	var b strings.Builder
	in := false
	for _, r := range s {
		letter := unicode.IsLetter(r)
		switch {
		case letter && in:
			r = unicode.ToLower(r)
		case letter:
			r = unicode.ToTitle(r)
		}
		b.WriteRune(r)
		in = letter
	}
	return b.String()
}

func stripMethod(name string, left, right bool) method {
	return strMethod(func(rt *runtime, s string, a *Args) (any, error) {
		v, err := a.Bind(name, "chars?")
		if err != nil {
			return nil, err
		}
		return rt.strip(s, v[0], left, right)
	})
}

// strip removes whitespace, or the characters of chars, from the ends.
func (rt *runtime) strip(s string, chars any, left, right bool) (any, error) {
	in := isSpace
	if chars != any(absent) && chars != nil {
		set, err := orStr(chars, "")
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

// affixMethod is startswith and endswith, which also take a tuple.
func affixMethod(name string, has func(s, affix string) bool) func(*runtime, string, *Args) (any, error) {
	return func(rt *runtime, s string, a *Args) (any, error) {
		v, err := a.Bind(name, "affix", "start?", "end?")
		if err != nil {
			return nil, err
		}
		if v[1] != any(absent) || v[2] != any(absent) {
			key := &sliceKey{lo: orValue(v[1], nil), hi: orValue(v[2], nil)}
			part, err := rt.slice(s, key)
			if err != nil {
				return nil, err
			}
			s = part.(string)
		}
		s = rt.bare(s)
		options := []any{v[0]}
		if t, ok := v[0].(*Tuple); ok {
			options = t.items
		}
		for _, o := range options {
			affix, err := orStr(o, "")
			if err == nil {
				err = rt.work(1 + len(affix)/32)
			}
			if err != nil {
				return nil, err
			}
			if has(s, rt.bare(affix)) {
				return true, nil
			}
		}
		return false, nil
	}
}

func cutMethod(name string, cut func(s, affix string) string) func(*runtime, string, *Args) (any, error) {
	return func(rt *runtime, s string, a *Args) (any, error) {
		v, err := a.Bind(name, "affix")
		if err != nil {
			return nil, err
		}
		affix, err := orStr(v[0], "")
		if err != nil {
			return nil, err
		}
		if bare := rt.bare(s); rt.marked(s) {
			kept := cut(bare, rt.bare(affix))
			at := []int{0, len(kept)}
			if name == "removeprefix" {
				at = []int{len(bare) - len(kept), len(bare)}
			}
			rt.unbare(s, at)
			return s[at[0]:at[1]], nil
		}
		return cut(s, rt.bare(affix)), nil
	}
}

func replaceMethod(rt *runtime, s string, a *Args) (any, error) {
	v, err := a.Bind("replace", "old", "new", "count?")
	if err != nil {
		return nil, err
	}
	from, err := orStr(v[0], "")
	if err != nil {
		return nil, err
	}
	to, err := orStr(v[1], "")
	if err != nil {
		return nil, err
	}
	n, err := orInt(v[2], -1)
	if err != nil {
		return nil, err
	}
	return rt.replace(s, from, to, n)
}

// replace charges for the result before making it. n < 0 = all.
func (rt *runtime) replace(s, from, to string, n int) (any, error) {
	from = rt.bare(from)
	hits := strings.Count(rt.bare(s), from)
	if n >= 0 {
		hits = min(hits, n)
	}
	if err := rt.text(len(s) + hits*max(0, len(to)-len(from))); err != nil {
		return nil, err
	}
	if from != "" && rt.marked(s) {
		if n >= 0 {
			n++
		}
		return strings.Join(rt.splitN(s, from, n), to), nil
	}
	return strings.Replace(s, from, to, n), nil
}

func countMethod(rt *runtime, s string, a *Args) (any, error) {
	v, err := a.Bind("count", "sub")
	if err != nil {
		return nil, err
	}
	sub, err := orStr(v[0], "")
	return int64(strings.Count(rt.bare(s), rt.bare(sub))), err
}

// findMethod counts positions in characters. must: not found is an error.
func findMethod(name string, find func(s, sub string) int, must bool) func(*runtime, string, *Args) (any, error) {
	return func(rt *runtime, s string, a *Args) (any, error) {
		v, err := a.Bind(name, "sub", "start?", "end?")
		if err != nil {
			return nil, err
		}
		sub, err := orStr(v[0], "")
		if err != nil {
			return nil, err
		}
		key := &sliceKey{lo: orValue(v[1], nil), hi: orValue(v[2], nil)}
		n, _, err := rt.length(s)
		if err != nil {
			return nil, err
		}
		start, _, _, err := key.bounds(n)
		if err != nil {
			return nil, err
		}
		part, err := rt.slice(s, key)
		if err != nil {
			return nil, err
		}
		text := rt.bare(part.(string)) // character for character the same
		i := find(text, rt.bare(sub))
		if i < 0 {
			if must {
				return nil, newErr(ValueError, "substring not found")
			}
			return int64(-1), nil
		}
		return int64(start + utf8.RuneCountInString(text[:i])), nil
	}
}
