package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// filters are "v | name(args)".
var filters map[string]*builtin

func init() {
	filters = map[string]*builtin{
		"default":    define("default_value? boolean?", defaultFilter),
		"length":     define("", lengthFilter),
		"first":      define("", func(rt *runtime, v any, _ args) (any, error) { return rt.end(v, "first") }),
		"last":       define("", func(rt *runtime, v any, _ args) (any, error) { return rt.end(v, "last") }),
		"list":       define("", listFilter),
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
		"string":     define("", func(rt *runtime, v any, _ args) (any, error) { return rt.str(v) }),
		// Texts are never escaped, so all of them are safe.
		"safe":       define("", func(rt *runtime, v any, _ args) (any, error) { return rt.str(v) }),
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
}

// filter applies a filter by name.
func (rt *runtime) filter(name string, v any, a *arguments) (any, error) {
	f, ok := filters[name]
	if !ok {
		return nil, newErr(RuntimeError, "%s", noSuch("filter", name))
	}
	return f.apply(rt, name, v, a)
}

func defaultFilter(_ *runtime, v any, a args) (any, error) {
	if isUndefined(v) || a.bool(1) && !truth(v) {
		return a.value(0, ""), nil
	}
	return v, nil
}

func lengthFilter(rt *runtime, v any, _ args) (any, error) {
	n, ok, err := rt.length(v)
	if err == nil && !ok {
		err = typeErr("object of type '%s' has no len()", typeName(v))
	}
	return int64(n), err
}

func intFilter(rt *runtime, v any, a args) (any, error) {
	if s, ok := v.(string); ok {
		if err := rt.text(len(s)); err != nil {
			return nil, err
		}
		v = rt.bare(s)
	}
	if u, ok := v.(*Undefined); ok {
		return nil, u.fail()
	}
	if n, ok := toInt(v); ok {
		return n, nil
	}
	return a.value(0, int64(0)), nil
}

// toInt is Python's int(v) of a number or a text, else int(float(v)).
func toInt(v any) (any, bool) {
	switch x := v.(type) {
	case bool:
		n, _ := toInt64(x)
		return n, true
	case int64, longInt:
		return x, true
	case float64:
		return floatToInt(x)
	case string:
		if len(x) > maxDigits {
			return nil, false
		}
		if n, ok := parseInt(strings.TrimFunc(x, isSpace)); ok {
			return n, true
		}
		if f, ok := parseFloat(x); ok {
			return floatToInt(f)
		}
	}
	return nil, false
}

func floatFilter(rt *runtime, v any, a args) (any, error) {
	switch x := v.(type) {
	case *Undefined:
		return nil, x.fail()
	case string:
		if err := rt.text(len(x)); err != nil {
			return nil, err
		}
		if f, ok := parseFloat(rt.bare(x)); ok {
			return f, nil
		}
	}
	if isNumber(v) {
		return toFloat(v), nil
	}
	return a.value(0, 0.0), nil
}

// parseFloat is Python's float(s).
func parseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, isSpace)
	if strings.ContainsAny(s, "xXpP") {
		return 0, false // Go reads hexadecimal floats, Python does not
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// titleFilter raises the first character of each word. Words are split at
// blanks, hyphens and opening brackets.
func titleFilter(rt *runtime, s string, _ args) (any, error) {
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
	return b.String(), nil
}

// replaceFilter is the method replace of what it makes texts first.
func replaceFilter(rt *runtime, s string, a args) (any, error) {
	for i := range 2 {
		text, err := rt.str(a.bound[i])
		if err != nil {
			return nil, err
		}
		a.bound[i] = text
	}
	if a.bound[2] == nil {
		a.bound[2] = absent
	}
	return replaceMethod(rt, s, a)
}

func indentFilter(rt *runtime, s string, a args) (any, error) {
	prefix, isStr := a.bound[0].(string)
	if !isStr {
		n, err := a.int(0, 4)
		if err != nil {
			return nil, err
		}
		if err := rt.text(n); err != nil {
			return nil, err
		}
		prefix = strings.Repeat(" ", max(n, 0))
	}
	lines, err := rt.splitLines(s + "\n")
	if err != nil {
		return nil, err
	}
	if err := rt.text(len(s) + len(lines)*(len(prefix)+1)); err != nil {
		return nil, err
	}
	first, blank := a.bool(1), a.bool(2)
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && first || i > 0 && (blank || l != "") {
			b.WriteString(prefix)
		}
		b.WriteString(l)
	}
	return b.String(), nil
}

// fromJSONFilter is not in transformers, but templates written for other
// engines read tool arguments with it.
func fromJSONFilter(rt *runtime, v any, _ args) (any, error) {
	s, err := needStr(v)
	if err != nil {
		return nil, err
	}
	if err := rt.work(len(s)); err != nil {
		return nil, err
	}
	d, err := DecodeJSON([]byte(rt.bare(s)))
	if err != nil {
		return nil, newErr(ValueError, "from_json: %v", err)
	}
	if rt.marks == nil {
		return d, nil
	}
	// Escapes are characters now. A stand-in among them would become another
	// character, and what a client's text says is the client's, even if the
	// text had none of the characters that are followed.
	check := marker{rt: rt, each: func(s string) (string, error) {
		if at, _ := rt.nextStandIn(s, 0); at < len(s) {
			r, _ := utf8.DecodeRuneInString(s[at:])
			return "", newErr(ValueError, "from_json: the text has \\u%04x, which is not a character; leave it out", r)
		}
		return s, nil
	}}
	if _, err := check.value(d); err != nil {
		return nil, err
	}
	return rt.markValue(d)
}
