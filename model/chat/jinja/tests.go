package jinja

import (
	"math/big"
	"strings"
	"unicode"
)

// testFunc decides "v is name(args)".
type testFunc func(rt *runtime, v any, a *Args) (bool, error)

var tests map[string]testFunc

// kindTest is a test without arguments.
func kindTest(f func(v any) bool) testFunc {
	return func(_ *runtime, v any, a *Args) (bool, error) {
		_, err := a.Bind("test")
		return f(v), err
	}
}

// opTest is a comparison as a test.
func opTest(op string) testFunc {
	return func(rt *runtime, v any, a *Args) (bool, error) {
		o, err := a.Bind(op, "other")
		if err != nil {
			return false, err
		}
		return rt.compareOp(op, v, o[0])
	}
}

func init() {
	tests = map[string]testFunc{
		"defined":   kindTest(func(v any) bool { return !isUndefined(v) }),
		"undefined": kindTest(isUndefined),
		"none":      kindTest(func(v any) bool { return v == nil }),
		"boolean":   kindTest(func(v any) bool { _, ok := v.(bool); return ok }),
		"true":      kindTest(func(v any) bool { b, ok := v.(bool); return ok && b }),
		"false":     kindTest(func(v any) bool { b, ok := v.(bool); return ok && !b }),
		"integer":   kindTest(isInteger),
		"float":     kindTest(func(v any) bool { _, ok := v.(float64); return ok }),
		"number":    kindTest(isNumber),
		"string":    kindTest(func(v any) bool { _, ok := asStr(v); return ok }),
		"mapping":   kindTest(func(v any) bool { _, ok := v.(*Dict); return ok }),
		"sequence": kindTest(func(v any) bool {
			switch v.(type) {
			case string, Markup, *List, *Tuple, *Dict, *rangeValue, *Undefined:
				return true
			}
			return false
		}),
		"iterable": kindTest(func(v any) bool {
			switch v.(type) {
			case string, Markup, *List, *Tuple, *Dict, *rangeValue, *Undefined, *view, *iterator, *loop:
				return true
			}
			return false
		}),
		"callable": kindTest(func(v any) bool {
			_, ok := v.(callable)
			return ok || isUndefined(v)
		}),
		"escaped": kindTest(func(v any) bool { _, ok := v.(Markup); return ok }),
		"lower":   caseTest(unicode.IsLower, unicode.IsUpper),
		"upper":   caseTest(unicode.IsUpper, unicode.IsLower),
		"odd":     modTest("odd", 1),
		"even":    modTest("even", 0),
		"divisibleby": func(rt *runtime, v any, a *Args) (bool, error) {
			n, err := a.Bind("divisibleby", "num")
			if err != nil {
				return false, err
			}
			m, err := rt.binary("%", v, n[0])
			if err != nil {
				return false, err
			}
			return rt.equal(m, int64(0))
		},
		"sameas": func(rt *runtime, v any, a *Args) (bool, error) {
			o, err := a.Bind("sameas", "other")
			if err != nil {
				return false, err
			}
			// Equal small values of one type are one object in Python.
			if typeName(v) == typeName(o[0]) && (isNumber(v) || v == nil) {
				return rt.equal(v, o[0])
			}
			return same(v, o[0]), nil
		},
		"in": func(rt *runtime, v any, a *Args) (bool, error) {
			c, err := a.Bind("in", "seq")
			if err != nil {
				return false, err
			}
			return rt.contains(c[0], v)
		},
		"filter": nameTest(func(n string) bool { _, ok := filters[n]; return ok }),
		"test":   nameTest(func(n string) bool { _, ok := tests[n]; return ok }),
	}
	for op, names := range map[string]string{
		"==": "eq equalto", "!=": "ne", "<": "lt lessthan", "<=": "le", ">": "gt greaterthan", ">=": "ge",
	} {
		for _, n := range strings.Fields(names + " " + op) {
			tests[n] = opTest(op)
		}
	}
}

func isUndefined(v any) bool { _, ok := v.(*Undefined); return ok }

func isInteger(v any) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

func caseTest(want, other func(rune) bool) testFunc {
	return func(rt *runtime, v any, a *Args) (bool, error) {
		if _, err := a.Bind("case"); err != nil {
			return false, err
		}
		s, err := rt.str(v)
		if err != nil {
			return false, err
		}
		if err := rt.text(len(s)); err != nil {
			return false, err
		}
		return cased(rt.bare(s), want, other), nil
	}
}

func modTest(name string, rest int64) testFunc {
	return func(rt *runtime, v any, a *Args) (bool, error) {
		if _, err := a.Bind(name); err != nil {
			return false, err
		}
		m, err := rt.binary("%", v, int64(2))
		if err != nil {
			return false, err
		}
		return rt.equal(m, rest)
	}
}

func nameTest(has func(string) bool) testFunc {
	return func(_ *runtime, v any, a *Args) (bool, error) {
		if _, err := a.Bind("test"); err != nil {
			return false, err
		}
		s, ok := asStr(v)
		return ok && has(s), nil
	}
}
