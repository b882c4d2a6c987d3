package jinja

import "strings"

func init() {
	filters := map[string]*builtin{
		"default":    define("default_value? boolean?", defaultFilter),
		"length":     define("", lengthFilter),
		"first":      define("", firstFilter),
		"last":       define("", lastFilter),
		"list":       define("", func(rt *runtime, v any, _ args) any { return newList(rt.iterate(v)) }),
		"items":      define("", itemsFilter),
		"join":       define("d? attribute?", joinFilter),
		"reverse":    define("", reverseFilter),
		"map":        define("*", mapFilter),
		"select":     define("*", pick(false, true)),
		"reject":     define("*", pick(false, false)),
		"selectattr": define("*", pick(true, true)),
		"rejectattr": define("*", pick(true, false)),
		"sort":       define("reverse? case_sensitive? attribute?", sortFilter),
		"dictsort":   define("case_sensitive? by? reverse?", dictSortFilter),
		"unique":     define("case_sensitive? attribute?", uniqueFilter),
		"int":        define("default?", intFilter),
		"float":      define("default?", floatFilter),
		"tojson":     define("ensure_ascii? indent? separators?", toJSONFilter),
		"from_json":  define("", fromJSONFilter),
		"string":     define("", func(rt *runtime, v any, _ args) any { return rt.str(v) }),
		"upper":      mapsText(upper),
		"lower":      mapsText(strings.ToLower),
		"capitalize": mapsText(capitalize),
		"title":      ofText("", titleFilter),
		"trim":       ofText("chars?", strip(true, true)),
		"replace":    ofText("old new count?", replaceFilter),
		"indent":     ofText("width? first? blank?", indentFilter),
	}
	filters["d"] = filters["default"]
	filters["count"] = filters["length"]
	filters["safe"] = filters["string"] // texts are never escaped
	builtins["filter"] = filters
}

func defaultFilter(_ *runtime, v any, a args) any {
	if isUndefined(v) || a.bool(1) && !truth(v) {
		return a.value(0, "")
	}
	return v
}

func lengthFilter(rt *runtime, v any, _ args) any {
	n, ok := rt.length(v)
	if !ok {
		panic(typeErr("object of type '%s' has no len()", typeName(v)))
	}
	return int64(n)
}

func intFilter(rt *runtime, v any, a args) any {
	if n, ok := toInt(rt.numeral(v)); ok {
		return n
	}
	return a.value(0, int64(0))
}

func floatFilter(rt *runtime, v any, a args) any {
	v = rt.numeral(v)
	if isNumber(v) {
		return toFloat(v)
	}
	if s, ok := v.(string); ok {
		if f, ok := parseFloat(s); ok {
			return f
		}
	}
	return a.value(0, 0.0)
}

// titleFilter raises the first character of each word. Words are split at
// blanks, hyphens and opening brackets.
func titleFilter(rt *runtime, s string, _ args) any {
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
			b.WriteString(strings.ToLower(string(r)))
		}
	}
	return b.String()
}

// replaceFilter is the method replace, with arguments that it converts to text.
func replaceFilter(rt *runtime, s string, a args) any {
	from, to := rt.str(a.pos[0]), rt.str(a.pos[1])
	if a.pos[2] == nil {
		a.pos[2] = absent
	}
	return replaceMethod(rt, s, args{pos: []any{from, to, a.pos[2]}})
}

func indentFilter(rt *runtime, s string, a args) any {
	prefix := rt.indentation(a.value(0, int64(4)))
	lines := rt.splitLines(s + "\n")
	rt.text(len(s) + len(lines)*(len(prefix)+1))
	first, blank := a.bool(1), a.bool(2)
	for i, l := range lines {
		if i == 0 && first || i > 0 && (blank || l != "") {
			lines[i] = prefix + l
		}
	}
	return strings.Join(lines, "\n")
}
