package jinja

import "unicode/utf8"

// filterFunc is "v | name(args)".
type filterFunc func(rt *runtime, v any, a *Args) (any, error)

// filters is every filter by name. It is filled by the files that hold them.
var filters = map[string]filterFunc{}

func init() {
	for _, group := range []map[string]filterFunc{textFilters(), htmlFilters(), numberFilters(), listFilters(), pickFilters(), sortFilters()} {
		for name, f := range group {
			filters[name] = f
		}
	}
	filters["tojson"] = toJSONFilter
	filters["from_json"] = fromJSONFilter
	filters["d"] = filters["default"]
	filters["count"] = filters["length"]
	filters["e"] = filters["escape"]
}

// fromJSONFilter is not in transformers, but templates written for other
// engines read tool arguments with it.
func fromJSONFilter(rt *runtime, v any, a *Args) (any, error) {
	if _, err := a.Bind("from_json"); err != nil {
		return nil, err
	}
	s, err := orStr(v, "")
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
	// text had no character that is followed.
	check := marker{rt: rt, each: func(s string) (string, error) {
		if at, _ := rt.nextStandIn(s, 0); at < len(s) {
			r, _ := utf8.DecodeRuneInString(s[at:])
			return "", newErr(ValueError, "from_json: the text has \\u%04x, which is no character; leave it out", r)
		}
		return s, nil
	}}
	if _, err := check.value(d); err != nil {
		return nil, err
	}
	return rt.markValue(d)
}
