package jinja

import "strings"

// tests are "v is name(args)".
var tests map[string]*builtin

func init() {
	tests = map[string]*builtin{
		"defined":   asks(func(v any) bool { return !isUndefined(v) }),
		"undefined": asks(isUndefined),
		"none":      asks(func(v any) bool { return v == nil }),
		"boolean":   asks(func(v any) bool { _, ok := v.(bool); return ok }),
		"true":      asks(func(v any) bool { return v == true }),
		"false":     asks(func(v any) bool { return v == false }),
		"integer":   asks(isInteger),
		"float":     asks(func(v any) bool { _, ok := v.(float64); return ok }),
		"number":    asks(isNumber),
		"string":    asks(func(v any) bool { _, ok := v.(string); return ok }),
		"mapping":   asks(func(v any) bool { _, ok := v.(*Dict); return ok }),
		"sequence":  asks(isSequence),
		"iterable": asks(func(v any) bool {
			switch v.(type) {
			case *view, *iterator, *loop:
				return true
			}
			return isSequence(v)
		}),
		"callable": asks(func(v any) bool {
			switch v.(type) {
			case *Function, *Macro, *Undefined:
				return true
			}
			return false
		}),
		"lower": asksText(isLower),
		"upper": asksText(isUpper),
		"odd":   leaves(1),
		"even":  leaves(0),
		"in":    define("seq", func(rt *runtime, v any, a args) (any, error) { return rt.contains(a.bound[0], v) }),
	}
	for op, names := range map[string]string{
		"==": "eq equalto", "!=": "ne", "<": "lt lessthan", "<=": "le", ">": "gt greaterthan", ">=": "ge",
	} {
		for _, n := range strings.Fields(names + " " + op) {
			tests[n] = define("other", func(rt *runtime, v any, a args) (any, error) { return rt.compareOp(op, v, a.bound[0]) })
		}
	}
}

// test applies a test by name.
func (rt *runtime) test(name string, v any, a *arguments) (bool, error) {
	f, ok := tests[name]
	if !ok {
		return false, newErr(RuntimeError, "%s", noSuch("test", name))
	}
	is, err := f.apply(rt, name, v, a)
	return err == nil && truth(is), err
}

// asks makes a test without arguments.
func asks(f func(v any) bool) *builtin {
	return define("", func(_ *runtime, v any, _ args) (any, error) { return f(v), nil })
}

// leaves makes a test of what division by two leaves.
func leaves(rest int64) *builtin {
	return define("", func(rt *runtime, v any, _ args) (any, error) {
		m, err := rt.binary("%", v, int64(2))
		if err != nil {
			return nil, err
		}
		return rt.equal(m, rest)
	})
}

func isUndefined(v any) bool { _, ok := v.(*Undefined); return ok }

func isInteger(v any) bool {
	switch v.(type) {
	case int64, longInt:
		return true
	}
	return false
}

func isSequence(v any) bool {
	switch v.(type) {
	case string, *List, *Tuple, *Dict, *Undefined:
		return true
	}
	return false
}
