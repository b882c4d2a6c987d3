package jinja

import "strings"

func htmlFilters() map[string]filterFunc {
	return map[string]filterFunc{
		"safe": func(rt *runtime, v any, a *Args) (any, error) {
			if _, err := a.Bind("safe"); err != nil {
				return nil, err
			}
			s, err := rt.str(v)
			return Markup(s), err
		},
		"escape": func(rt *runtime, v any, a *Args) (any, error) {
			if _, ok := v.(Markup); ok {
				return v, nil
			}
			return escapeFilter(rt, v, a)
		},
		"forceescape": escapeFilter,
		"striptags": textFilter(func(_ *runtime, s string, a *Args) (any, error) {
			if _, err := a.Bind("striptags"); err != nil {
				return nil, err
			}
			return stripTags(s), nil
		}),
	}
}

func escapeFilter(rt *runtime, v any, a *Args) (any, error) {
	if _, err := a.Bind("escape"); err != nil {
		return nil, err
	}
	s, err := rt.str(v)
	if err != nil {
		return nil, err
	}
	if err := rt.text(5 * len(s)); err != nil {
		return nil, err
	}
	return Markup(escapeHTML(s)), nil
}

// stripTags removes <…> and comments and collapses whitespace.
func stripTags(s string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			break
		}
		end, width := strings.IndexByte(s[open:], '>'), 1
		if strings.HasPrefix(s[open:], "<!--") {
			end, width = strings.Index(s[open:], "-->"), 3
		}
		if end < 0 {
			break
		}
		b.WriteString(s[:open])
		s = s[open+end+width:]
	}
	b.WriteString(s)
	return strings.Join(strings.FieldsFunc(b.String(), isSpace), " ")
}
