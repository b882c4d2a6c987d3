package jinja

import (
	"strings"
	"unicode/utf8"
)

// strList makes a list of the parts, charging for each.
func (rt *runtime) strList(parts []string) (any, error) {
	if err := rt.work(2 * len(parts)); err != nil {
		return nil, err
	}
	items := make([]any, len(parts))
	for i, p := range parts {
		items[i] = p
	}
	return &List{items}, nil
}

// splitArgs reads sep (absent and None: runs of whitespace) and maxsplit.
func splitArgs(rt *runtime, name, s string, a *Args) (sep string, bySpace bool, limit int, err error) {
	v, err := a.Bind(name, "sep?", "maxsplit?")
	if err != nil {
		return "", false, 0, err
	}
	if limit, err = orInt(v[1], -1); err != nil {
		return "", false, 0, err
	}
	if v[0] == any(absent) || v[0] == nil {
		return "", true, limit, rt.work(len(s))
	}
	if sep, err = orStr(v[0], ""); err == nil && sep == "" {
		err = newErr(ValueError, "empty separator")
	}
	if err == nil {
		sep = rt.bare(sep)
		err = rt.work(strings.Count(rt.bare(s), sep))
	}
	return sep, false, limit, err
}

func splitMethod(rt *runtime, s string, a *Args) (any, error) {
	sep, bySpace, limit, err := splitArgs(rt, "split", s, a)
	if err != nil {
		return nil, err
	}
	if !bySpace {
		if limit >= 0 {
			limit++
		}
		return rt.strList(rt.splitN(s, sep, limit))
	}
	var parts []string
	for s = strings.TrimLeftFunc(s, isSpace); s != ""; {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 || limit >= 0 && len(parts) >= limit {
			// What is left keeps its inner whitespace; at the limit Python keeps
			// the trailing one too.
			parts = append(parts, s)
			break
		}
		parts = append(parts, s[:i])
		s = strings.TrimLeftFunc(s[i:], isSpace)
	}
	return rt.strList(parts)
}

func rsplitMethod(rt *runtime, s string, a *Args) (any, error) {
	sep, bySpace, limit, err := splitArgs(rt, "rsplit", s, a)
	if err != nil {
		return nil, err
	}
	var parts []string // from the end
	if !bySpace && rt.marked(s) {
		return rt.strList(rt.rsplitMarked(s, sep, limit))
	}
	if bySpace {
		s = strings.TrimRightFunc(s, isSpace)
	}
	for !bySpace || s != "" {
		i, width := strings.LastIndex(s, sep), len(sep)
		if bySpace {
			i = strings.LastIndexFunc(s, isSpace)
			if i >= 0 {
				_, width = utf8.DecodeRuneInString(s[i:])
			}
		}
		if i < 0 || limit >= 0 && len(parts) >= limit {
			parts = append(parts, s)
			break
		}
		parts = append(parts, s[i+width:])
		s = s[:i]
		if bySpace {
			s = strings.TrimRightFunc(s, isSpace)
		}
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return rt.strList(parts)
}

func splitLinesMethod(rt *runtime, s string, a *Args) (any, error) {
	v, err := a.Bind("splitlines", "keepends?")
	if err != nil {
		return nil, err
	}
	parts, err := rt.splitLines(s, orBool(v[0], false))
	if err != nil {
		return nil, err
	}
	return rt.strList(parts)
}

// splitLines is Python's str.splitlines, charged for before the lines are made.
func (rt *runtime) splitLines(s string, keepEnds bool) ([]string, error) {
	n := 1
	for i := range len(s) {
		if c := s[i]; c >= '\n' && c <= '\r' || c >= 0x1c && c <= 0x1e || c == 0xc2 || c == 0xe2 {
			n++
		}
	}
	if err := rt.work(2 * n); err != nil {
		return nil, err
	}
	out := make([]string, 0, n)
	start := 0
	for i, r := range s {
		if i < start {
			continue // the second half of \r\n
		}
		switch r {
		case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		default:
			continue
		}
		end := i + utf8.RuneLen(r)
		if r == '\r' && end < len(s) && s[end] == '\n' {
			end++
		}
		if keepEnds {
			out = append(out, s[start:end])
		} else {
			out = append(out, s[start:i])
		}
		start = end
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out, nil
}

// partitionMethod splits at one separator; last: what is missing is in front.
func partitionMethod(find func(s, sub string) int, last bool) func(*runtime, string, *Args) (any, error) {
	return func(rt *runtime, s string, a *Args) (any, error) {
		v, err := a.Bind("partition", "sep")
		if err != nil {
			return nil, err
		}
		sep, err := orStr(v[0], "")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, newErr(ValueError, "empty separator")
		}
		parts := []any{s, "", ""}
		bare := rt.bare(sep)
		if i := find(rt.bare(s), bare); i >= 0 {
			at := []int{i, i + len(bare)}
			if rt.marked(s) {
				rt.unbare(s, at)
			}
			parts = []any{s[:at[0]], s[at[0]:at[1]], s[at[1]:]}
		} else if last {
			parts = []any{"", "", s}
		}
		return &Tuple{items: parts}, nil
	}
}

func joinMethod(rt *runtime, s string, a *Args) (any, error) {
	v, err := a.Bind("join", "iterable")
	if err != nil {
		return nil, err
	}
	items, err := rt.iterate(v[0])
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		if _, ok := asStr(it); !ok {
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
		if b.Len()+len(sep)+len(s) > rt.valueBytes {
			return nil, rt.text(b.Len() + len(sep) + len(s))
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

// padMethod fills to a width; side 0 pads right, 1 left, 2 both.
func padMethod(name string, side int) func(*runtime, string, *Args) (any, error) {
	return func(rt *runtime, s string, a *Args) (any, error) {
		v, err := a.Bind(name, "width", "fillchar?")
		if err != nil {
			return nil, err
		}
		width, err := orInt(v[0], 0)
		if err != nil {
			return nil, err
		}
		fill, err := orStr(v[1], " ")
		if err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(fill) != 1 {
			return nil, typeErr("The fill character must be exactly one character long")
		}
		return rt.pad(s, width, fill, side)
	}
}

func (rt *runtime) pad(s string, width int, fill string, side int) (any, error) {
	have := utf8.RuneCountInString(s)
	n := width - have
	if n <= 0 {
		return s, nil
	}
	if err := rt.text(len(s) + n*len(fill)); err != nil {
		return nil, err
	}
	left := 0
	switch side {
	case 1:
		left = n
	case 2:
		left = n/2 + n&width&1 // Python puts the odd one left only for odd widths
	}
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, n-left), nil
}

func zfillMethod(rt *runtime, s string, a *Args) (any, error) {
	v, err := a.Bind("zfill", "width")
	if err != nil {
		return nil, err
	}
	width, err := orInt(v[0], 0)
	if err != nil {
		return nil, err
	}
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	p, err := rt.pad(s, width-len(sign), "0", 1)
	if err != nil {
		return nil, err
	}
	return sign + p.(string), nil
}
