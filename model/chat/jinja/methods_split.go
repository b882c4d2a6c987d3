package jinja

import (
	"slices"
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

// separator reads the argument of a separator, "" where none is given: runs of
// whitespace. It charges for the parts.
func (rt *runtime) separator(s string, a args) (string, error) {
	v := a.value(0, nil)
	if v == nil {
		return "", rt.work(len(s))
	}
	sep, err := needStr(v)
	if err != nil {
		return "", err
	}
	if sep == "" {
		return "", newErr(ValueError, "empty separator")
	}
	sep = rt.bare(sep)
	return sep, rt.work(strings.Count(rt.bare(s), sep))
}

func splitMethod(rt *runtime, s string, a args) (any, error) {
	sep, err := rt.separator(s, a)
	if err != nil {
		return nil, err
	}
	limit, err := a.int(1, -1)
	if err != nil {
		return nil, err
	}
	if sep != "" {
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

func rsplitMethod(rt *runtime, s string, a args) (any, error) {
	sep, err := rt.separator(s, a)
	if err != nil {
		return nil, err
	}
	limit, err := a.int(1, -1)
	if err != nil {
		return nil, err
	}
	if sep != "" {
		return rt.strList(rt.rsplitN(s, sep, limit))
	}
	var parts []string // from the end
	for s = strings.TrimRightFunc(s, isSpace); s != ""; {
		i := strings.LastIndexFunc(s, isSpace)
		if i < 0 || limit >= 0 && len(parts) >= limit {
			parts = append(parts, s)
			break
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		parts = append(parts, s[i+size:])
		s = strings.TrimRightFunc(s[:i], isSpace)
	}
	slices.Reverse(parts)
	return rt.strList(parts)
}

// partition splits in three at one separator, the last one if fromEnd.
func partition(fromEnd bool) func(*runtime, string, args) (any, error) {
	return func(rt *runtime, s string, a args) (any, error) {
		sep, err := a.str(0, "")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, newErr(ValueError, "empty separator")
		}
		parts, items := rt.splitN(s, rt.bare(sep), 1), []any{s, "", ""}
		if fromEnd {
			parts, items = rt.rsplitN(s, rt.bare(sep), 1), []any{"", "", s}
		}
		if len(parts) == 2 {
			items = []any{parts[0], s[len(parts[0]) : len(s)-len(parts[1])], parts[1]}
		}
		return &Tuple{items}, nil
	}
}

func splitLinesMethod(rt *runtime, s string, _ args) (any, error) {
	parts, err := rt.splitLines(s)
	if err != nil {
		return nil, err
	}
	return rt.strList(parts)
}

// splitLines is Python's str.splitlines, charged for before the lines are made.
func (rt *runtime) splitLines(s string) ([]string, error) {
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
		out, start = append(out, s[start:i]), end
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out, nil
}
