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
		"split":        ofText("sep? maxsplit?", splitMethod),
		"rsplit":       ofText("sep? maxsplit?", rsplitMethod),
		"splitlines":   ofText("", splitLinesMethod),
		"partition":    ofText("sep", partition(false)),
		"rpartition":   ofText("sep", partition(true)),
		"startswith":   ofText("affix start? end?", affixMethod(strings.HasPrefix)),
		"endswith":     ofText("affix start? end?", affixMethod(strings.HasSuffix)),
		"removeprefix": ofText("affix", removePrefixMethod),
		"removesuffix": ofText("affix", removeSuffixMethod),
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
		"isspace":      asksText(func(s string) bool { return all(s, isSpace) }),
		"isalpha":      asksText(func(s string) bool { return all(s, unicode.IsLetter) }),
		"isdigit":      asksText(func(s string) bool { return all(s, unicode.IsDigit) }),
		"isalnum":      asksText(func(s string) bool { return all(s, isLetterOrNumber) }),
		"isascii":      asksText(func(s string) bool { return s == "" || all(s, func(r rune) bool { return r < 0x80 }) }),
		"isupper":      asksText(isUpper),
		"islower":      asksText(isLower),
	}
	dictMethods = map[string]*builtin{
		"get":    define("key default?", getMethod),
		"items":  dictView("items"),
		"keys":   dictView("keys"),
		"values": dictView("values"),
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

func getMethod(rt *runtime, v any, a args) (any, error) {
	if err := rt.hashable(a.bound[0]); err != nil {
		return nil, err
	}
	if found, ok := v.(*Dict).get(rt.bareKey(a.bound[0])); ok {
		return found, nil
	}
	return a.value(1, nil), nil
}

func dictView(what string) *builtin {
	return define("", func(_ *runtime, v any, _ args) (any, error) { return &view{v.(*Dict), what}, nil })
}

// formatMethod is str.format with fields by order, number or name: "{}", "{0}"
// and "{name}".
func formatMethod(rt *runtime, v any, a args) (any, error) {
	s, byOrder := v.(string), 0
	if err := rt.text(len(s)); err != nil {
		return nil, err
	}
	if err := rt.work(len(s) / 8); err != nil {
		return nil, err
	}
	isBrace := func(r rune) bool { r = rt.bareRune(r); return r == '{' || r == '}' }
	var b strings.Builder
	for {
		i := strings.IndexFunc(s, isBrace)
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		brace, size := rt.firstRune(s[i:])
		s = s[i+size:]
		if twin, size := rt.firstRune(s); twin == brace { // a brace that is written
			b.WriteString(s[:size])
			s = s[size:]
			continue
		}
		end := strings.IndexFunc(s, isBrace)
		switch {
		case brace == '}':
			return nil, newErr(ValueError, "Single '}' encountered in format string")
		case end < 0:
			return nil, newErr(ValueError, "expected '}' before end of string")
		}
		name := rt.bare(s[:end])
		closing, size := rt.firstRune(s[end:])
		if closing == '{' || strings.ContainsAny(name, "!:.[") {
			return nil, newErr(ValueError, "the format field {%s is not supported in chat templates, only {}, {0} and {name} are", name)
		}
		s = s[end+size:]
		if name == "" {
			name = plain(int64(byOrder))
			byOrder++
		}
		text, err := rt.formatField(name, a.all)
		if err == nil {
			err = rt.text(b.Len() + len(text))
		}
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
}

// formatField is the text of the argument of a number or name.
func (rt *runtime) formatField(name string, a *arguments) (string, error) {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 || n >= len(a.Pos) {
			return "", newErr("IndexError", "Replacement index %d out of range for positional args tuple", n)
		}
		return rt.str(a.Pos[n])
	}
	for _, k := range a.Kw {
		if k.Name == name {
			return rt.str(k.Value)
		}
	}
	return "", newErr("KeyError", "'%s'", name)
}
