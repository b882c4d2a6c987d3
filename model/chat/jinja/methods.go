package jinja

import (
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
