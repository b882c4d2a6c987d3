package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// strList makes a list of the parts, charging for each.
func (rt *runtime) strList(parts []string) any {
	rt.work(2 * len(parts))
	items := make([]any, len(parts))
	for i, p := range parts {
		items[i] = p
	}
	return newList(items)
}

// split is split or, if fromEnd, rsplit. It charges for the parts before it makes them.
func split(fromEnd bool) textFunc {
	return func(rt *runtime, s string, a args) any {
		v := a.value(0, nil)
		if v == nil {
			rt.work(len(s))
			return rt.strList(splitSpace(s, a.int(1, -1), fromEnd))
		}
		sep := rt.separator(v)
		rt.work(strings.Count(rt.bare(s), sep))
		return rt.strList(rt.splitN(s, sep, a.int(1, -1), fromEnd))
	}
}

func (rt *runtime) separator(v any) string {
	sep := needStr(v)
	if sep == "" {
		panic(newErr(ValueError, "empty separator"))
	}
	return rt.bare(sep)
}

// splitSpace splits at runs of whitespace, at most limit times; negative: no limit.
func splitSpace(s string, limit int, fromEnd bool) []string {
	trim, index := strings.TrimLeftFunc, strings.IndexFunc
	if fromEnd {
		trim, index = strings.TrimRightFunc, strings.LastIndexFunc
	}
	var parts []string
	for s = trim(s, isSpace); s != ""; {
		i := index(s, isSpace)
		if i < 0 || limit >= 0 && len(parts) >= limit {
			// Its inner whitespace stays, at the limit also that at the other end.
			parts = append(parts, s)
			break
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		word, rest := s[:i], s[i+size:]
		if fromEnd {
			word, rest = rest, word
		}
		parts = append(parts, word)
		s = trim(rest, isSpace)
	}
	if fromEnd {
		slices.Reverse(parts)
	}
	return parts
}

// partition splits in three at one separator, the last one if fromEnd.
func partition(fromEnd bool) textFunc {
	return func(rt *runtime, s string, a args) any {
		sep := rt.separator(a.pos[0])
		parts := rt.splitN(s, sep, 1, fromEnd)
		switch {
		case len(parts) == 2:
			sep = s[len(parts[0]) : len(s)-len(parts[1])]
			return newTuple(parts[0], sep, parts[1])
		case fromEnd:
			return newTuple("", "", s)
		}
		return newTuple(s, "", "")
	}
}

// splitLines is Python's str.splitlines, charged for before the lines are made.
func (rt *runtime) splitLines(s string) (lines []string) {
	n := 1
	for _, r := range s {
		if endsLine(r) {
			n++
		}
	}
	rt.work(2 * n)
	for s != "" {
		i := strings.IndexFunc(s, endsLine)
		if i < 0 {
			return append(lines, s)
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			size = 2
		}
		lines, s = append(lines, s[:i]), s[i+size:]
	}
	return lines
}

func endsLine(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}

// splitN splits at most limit times, without a limit if it is negative, by a
// separator that is bare and not empty. fromEnd: it begins at the end.
func (rt *runtime) splitN(s, sep string, limit int, fromEnd bool) []string {
	index := strings.Index
	if fromEnd {
		index = strings.LastIndex
	}
	var parts []string
	for rest := rt.bare(s); ; {
		i := index(rest, sep)
		if i < 0 || limit >= 0 && len(parts) >= limit {
			parts = append(parts, rest)
			break
		}
		part, after := rest[:i], rest[i+len(sep):]
		if fromEnd {
			part, after = after, part
		}
		parts, rest = append(parts, part), after
	}
	if fromEnd {
		slices.Reverse(parts)
	}
	if !rt.marked(s) {
		return parts
	}
	// Cut s in the same places.
	at := make([]int, 0, 2*len(parts))
	end := -len(sep)
	for _, p := range parts {
		at = append(at, end+len(sep), end+len(sep)+len(p))
		end = at[len(at)-1]
	}
	rt.unbare(s, at...)
	for i := range parts {
		parts[i] = s[at[2*i]:at[2*i+1]]
	}
	return parts
}
