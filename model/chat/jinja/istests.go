package jinja

import "strings"

// Tests return a bool.
func init() {
	tests := map[string]*builtin{
		"defined":   test(func(v any) bool { return !isUndefined(v) }),
		"undefined": test(isUndefined),
		"none":      test(func(v any) bool { return v == nil }),
		"boolean":   test(is[bool]),
		"true":      test(func(v any) bool { return v == true }),
		"false":     test(func(v any) bool { return v == false }),
		"integer":   test(isInteger),
		"float":     test(is[float64]),
		"number":    test(isNumber),
		"string":    test(is[string]),
		"mapping":   test(is[*Dict]),
		"sequence":  test(isSequence),
		"iterable": test(func(v any) bool {
			return isSequence(v) || is[*view](v) || is[*iterator](v) || is[*loop](v)
		}),
		"callable": test(func(v any) bool { return is[*Function](v) || is[*Macro](v) || isUndefined(v) }),
		"lower":    testsText(isLower),
		"upper":    testsText(isUpper),
		"odd":      remainder(1),
		"even":     remainder(0),
		"in":       define("seq", func(rt *runtime, v any, a args) any { return rt.contains(a.pos[0], v) }),
	}
	for op, names := range map[string]string{
		"==": "eq equalto", "!=": "ne", "<": "lt lessthan", "<=": "le", ">": "gt greaterthan", ">=": "ge",
	} {
		for _, n := range strings.Fields(names + " " + op) {
			tests[n] = define("other", func(rt *runtime, v any, a args) any { return rt.compareOp(op, v, a.pos[0]) })
		}
	}
	builtins["test"] = tests
}

func test(f func(v any) bool) *builtin {
	return define("", func(_ *runtime, v any, _ args) any { return f(v) })
}

// remainder makes a test of the remainder of a division by two.
func remainder(rest int64) *builtin {
	return define("", func(rt *runtime, v any, _ args) any {
		return rt.equal(rt.binary("%", v, int64(2)), rest)
	})
}

func isSequence(v any) bool {
	return is[*List](v) || is[string](v) || is[*Dict](v) || isUndefined(v)
}
