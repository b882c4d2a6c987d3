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
		"striptags": textFilter(func(rt *runtime, s string, a *Args) (any, error) {
			if _, err := a.Bind("striptags"); err != nil {
				return nil, err
			}
			return rt.stripTags(s)
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
	return Markup(rt.escapeHTML(s)), nil
}

// stripTags removes <…> and comments and collapses whitespace.
func (rt *runtime) stripTags(s string) (any, error) {
	if err := rt.work(len(s)); err != nil { // a slot for each word
		return nil, err
	}
	var b strings.Builder
	t := rt.bare(s)
	at := []int{0} // where what is kept starts and ends in t
	for {
		from := at[len(at)-1]
		open := strings.IndexByte(t[from:], '<')
		if open < 0 {
			break
		}
		open += from
		end, width := strings.IndexByte(t[open:], '>'), 1
		if strings.HasPrefix(t[open:], "<!--") {
			end, width = strings.Index(t[open:], "-->"), 3
		}
		if end < 0 {
			break
		}
		at = append(at, open, open+end+width)
	}
	at = append(at, len(t))
	if len(t) != len(s) || rt.marked(s) {
		rt.unbare(s, at)
	}
	for i := 0; i < len(at); i += 2 {
		b.WriteString(s[at[i]:at[i+1]])
	}
	return strings.Join(strings.FieldsFunc(b.String(), isSpace), " "), nil
}
