package jinja

import (
	"strconv"
	"strings"
	"unicode"
)

// Methods of texts and dicts.
var strMethods, dictMethods map[string]*builtin

func init() {
	strMethods = map[string]*builtin{
		"strip":        ofText("chars?", strip(true, true)),
		"lstrip":       ofText("chars?", strip(true, false)),
		"rstrip":       ofText("chars?", strip(false, true)),
		"split":        ofText("sep? maxsplit?", split(false)),
		"rsplit":       ofText("sep? maxsplit?", split(true)),
		"splitlines":   ofText("", func(rt *runtime, s string, _ args) any { return rt.strList(rt.splitLines(s)) }),
		"partition":    ofText("sep", partition(false)),
		"rpartition":   ofText("sep", partition(true)),
		"startswith":   ofText("affix start? end?", affixMethod(strings.HasPrefix)),
		"endswith":     ofText("affix start? end?", affixMethod(strings.HasSuffix)),
		"removeprefix": ofText("affix", removeAffix(strings.HasPrefix, false)),
		"removesuffix": ofText("affix", removeAffix(strings.HasSuffix, true)),
		"replace":      ofText("old new count?", replaceMethod),
		"join":         ofText("iterable", joinMethod),
		"find":         ofText("sub start? end?", findMethod(strings.Index, false)),
		"rfind":        ofText("sub start? end?", findMethod(strings.LastIndex, false)),
		"index":        ofText("sub start? end?", findMethod(strings.Index, true)),
		"count":        ofText("sub", countMethod),
		"format":       define("*", formatMethod),
		"upper":        mapsText(upper),
		"lower":        mapsText(strings.ToLower),
		"title":        mapsText(title),
		"capitalize":   mapsText(capitalize),
		"isspace":      testsText(func(s string) bool { return all(s, isSpace) }),
		"isalpha":      testsText(func(s string) bool { return all(s, unicode.IsLetter) }),
		"isdigit":      testsText(func(s string) bool { return all(s, unicode.IsDigit) }),
		"isalnum":      testsText(func(s string) bool { return all(s, isLetterOrNumber) }),
		"isascii":      testsText(func(s string) bool { return s == "" || all(s, func(r rune) bool { return r < 0x80 }) }),
		"isupper":      testsText(isUpper),
		"islower":      testsText(isLower),
	}
	dictMethods = map[string]*builtin{
		"get":    define("key default?", getMethod),
		"items":  define("", func(rt *runtime, v any, _ args) any { return &view{"items", rt.pairs(v.(*Dict))} }),
		"keys":   define("", func(_ *runtime, v any, _ args) any { return &view{"keys", v.(*Dict).keys} }),
		"values": define("", func(_ *runtime, v any, _ args) any { return &view{"values", v.(*Dict).vals} }),
	}
}

// methodOf finds a method by the type of v, nil if there is none.
func methodOf(v any, name string) *builtin {
	switch v.(type) {
	case string:
		return strMethods[name]
	case *Dict:
		return dictMethods[name]
	}
	return nil
}

func getMethod(rt *runtime, v any, a args) any {
	if found, ok := rt.get(v.(*Dict), a.pos[0]); ok {
		return found
	}
	return a.value(1, nil)
}

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
