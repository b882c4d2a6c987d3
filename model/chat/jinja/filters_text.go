package jinja

import (
	"net/url"
	"strings"
	"unicode"
)

// textFilter wraps a filter over str(v).
func textFilter(f func(rt *runtime, s string, a *Args) (any, error)) filterFunc {
	return func(rt *runtime, v any, a *Args) (any, error) {
		s, err := rt.str(v)
		if err != nil {
			return nil, err
		}
		if err := rt.text(len(s)); err != nil {
			return nil, err
		}
		return f(rt, s, a)
	}
}

// plainText is a textFilter without arguments.
func plainText(name string, f func(s string) any) filterFunc {
	return textFilter(func(_ *runtime, s string, a *Args) (any, error) {
		_, err := a.Bind(name)
		return f(s), err
	})
}

func textFilters() map[string]filterFunc {
	return map[string]filterFunc{
		"upper":      plainText("upper", func(s string) any { return upper(s) }),
		"lower":      plainText("lower", func(s string) any { return strings.ToLower(s) }),
		"capitalize": plainText("capitalize", func(s string) any { return capitalize(s) }),
		"title": textFilter(func(rt *runtime, s string, a *Args) (any, error) {
			_, err := a.Bind("title")
			return rt.titleWords(s), err
		}),
		"wordcount": textFilter(func(rt *runtime, s string, a *Args) (any, error) {
			_, err := a.Bind("wordcount")
			return int64(wordCount(rt.bare(s))), err
		}),
		"string": func(rt *runtime, v any, a *Args) (any, error) {
			if m, ok := v.(Markup); ok {
				return m, nil
			}
			return rt.str(v)
		},
		"trim": textFilter(func(rt *runtime, s string, a *Args) (any, error) {
			v, err := a.Bind("trim", "chars?")
			if err != nil {
				return nil, err
			}
			return rt.strip(s, v[0], true, true)
		}),
		"replace": textFilter(func(rt *runtime, s string, a *Args) (any, error) {
			v, err := a.Bind("replace", "old", "new", "count?")
			if err != nil {
				return nil, err
			}
			from, err := rt.str(v[0])
			if err != nil {
				return nil, err
			}
			to, err := rt.str(v[1])
			if err != nil {
				return nil, err
			}
			n := -1
			if v[2] != nil {
				if n, err = orInt(v[2], -1); err != nil {
					return nil, err
				}
			}
			return rt.replace(s, from, to, n)
		}),
		"format": textFilter(func(rt *runtime, s string, a *Args) (any, error) {
			if len(a.Kw) > 0 && len(a.Pos) > 0 {
				return nil, typeErr("can't handle positional and keyword arguments at the same time")
			}
			if len(a.Kw) > 0 {
				d, err := rt.makeDict("format", a)
				if err != nil {
					return nil, err
				}
				return rt.percent(s, d)
			}
			return rt.percent(s, &Tuple{items: a.Pos})
		}),
		"center": textFilter(func(rt *runtime, s string, a *Args) (any, error) {
			v, err := a.Bind("center", "width?")
			if err != nil {
				return nil, err
			}
			width, err := orInt(v[0], 80)
			if err != nil {
				return nil, err
			}
			return rt.pad(s, width, " ", 2)
		}),
		"indent":   textFilter(indentFilter),
		"truncate": textFilter(truncateFilter),
		"urlencode": textFilter(func(rt *runtime, s string, a *Args) (any, error) {
			if _, err := a.Bind("urlencode"); err != nil {
				return nil, err
			}
			if err := rt.text(3 * len(s)); err != nil {
				return nil, err
			}
			return rt.eachBare(s, urlEncode), nil
		}),
	}
}

// urlEncode is Python's quote, which keeps "/" and "~" and writes a space as %20.
func urlEncode(s string) string {
	return quoted.Replace(url.QueryEscape(s))
}

var quoted = strings.NewReplacer("+", "%20", "%2F", "/", "%7E", "~")

// titleWords is the filter title: the first character of each word, words
// split at blanks, hyphens and opening brackets.
func (rt *runtime) titleWords(s string) string {
	var b strings.Builder
	start := true
	for _, r := range s {
		switch {
		case isSpace(r) || strings.ContainsRune("-({[<", rt.bareRune(r)):
			start = true
			b.WriteRune(r)
		case start:
			b.WriteString(upper(string(r)))
			start = false
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

func wordCount(s string) int {
	n, in := 0, false
	for _, r := range s {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if word && !in {
			n++
		}
		in = word
	}
	return n
}

func indentFilter(rt *runtime, s string, a *Args) (any, error) {
	v, err := a.Bind("indent", "width?", "first?", "blank?")
	if err != nil {
		return nil, err
	}
	prefix, isStr := asStr(v[0])
	if !isStr {
		n, err := orInt(v[0], 4)
		if err != nil {
			return nil, err
		}
		if err := rt.text(n); err != nil {
			return nil, err
		}
		prefix = strings.Repeat(" ", max(n, 0))
	}
	blank := orBool(v[2], false)
	lines, err := rt.splitLines(s+"\n", false)
	if err != nil {
		return nil, err
	}
	if err := rt.text(len(s) + len(lines)*(len(prefix)+1)); err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && orBool(v[1], false) || i > 0 && (blank || l != "") {
			b.WriteString(prefix)
		}
		b.WriteString(l)
	}
	return b.String(), nil
}

func truncateFilter(rt *runtime, s string, a *Args) (any, error) {
	v, err := a.Bind("truncate", "length?", "killwords?", "end?", "leeway?")
	if err != nil {
		return nil, err
	}
	n, err := orInt(v[0], 255)
	if err != nil {
		return nil, err
	}
	end, err := orStr(v[2], "...")
	if err != nil {
		return nil, err
	}
	leeway, err := orInt(v[3], 5)
	if err != nil {
		return nil, err
	}
	rs, es := []rune(s), []rune(end)
	if n < len(es) || leeway < 0 {
		return nil, newErr(ValueError, "truncate: expected length >= %d and leeway >= 0, got %d and %d", len(es), n, leeway)
	}
	if len(rs) <= n+leeway {
		return s, nil
	}
	cut := string(rs[:n-len(es)])
	if !orBool(v[1], false) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	return cut + end, nil
}
