package jinja

import (
	"strconv"
	"strings"
)

// formatMethod is str.format with fields by order, number or name: "{}", "{0}", "{name}".
func formatMethod(rt *runtime, v any, a args) any {
	s, byOrder := v.(string), 0
	rt.text(len(s))
	rt.work(len(s) / 8)
	isBrace := func(r rune) bool { r = rt.bareRune(r); return r == '{' || r == '}' }
	var b strings.Builder
	for {
		i := strings.IndexFunc(s, isBrace)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		brace, size := rt.firstRune(s[i:])
		s = s[i+size:]
		if twin, size := rt.firstRune(s); twin == brace { // a doubled brace is text
			b.WriteString(s[:size])
			s = s[size:]
			continue
		}
		end := strings.IndexFunc(s, isBrace)
		switch {
		case brace == '}':
			panic(newErr(ValueError, "Single '}' encountered in format string"))
		case end < 0:
			panic(newErr(ValueError, "expected '}' before end of string"))
		}
		name := rt.bare(s[:end])
		closing, size := rt.firstRune(s[end:])
		if closing == '{' || strings.ContainsAny(name, "!:.[") {
			panic(newErr(ValueError, "the format field {%s is not supported in chat templates, only {}, {0} and {name} are", name))
		}
		s = s[end+size:]
		if name == "" {
			name = plain(int64(byOrder))
			byOrder++
		}
		text := rt.formatField(name, a)
		rt.text(b.Len() + len(text))
		b.WriteString(text)
	}
}

// formatField is the text of the argument of a number or name.
func (rt *runtime) formatField(name string, a args) string {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 || n >= len(a.pos) {
			panic(newErr("IndexError", "Replacement index %d out of range for positional args tuple", n))
		}
		return rt.str(a.pos[n])
	}
	for _, k := range a.kw {
		if k.name == name {
			return rt.str(k.v)
		}
	}
	panic(newErr("KeyError", "'%s'", name))
}
