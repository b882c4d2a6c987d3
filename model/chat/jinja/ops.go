package jinja

import (
	"slices"
	"strings"
)

// binary computes l op r.
func (rt *runtime) binary(op string, l, r any) any {
	if isNumber(l) && isNumber(r) {
		return arith(op, l, r)
	}
	ls, lStr := needDefined(l).(string)
	if lStr && op == "%" {
		panic(typeErr("string formatting with %% is not supported in chat templates; join the texts with ~"))
	}
	rs, rStr := needDefined(r).(string)
	if op == "+" {
		if lStr && rStr {
			rt.text(len(ls) + len(rs))
			return ls + rs
		}
		a, b, ok := twoLists(l, r)
		if ok {
			rt.work(len(a.items) + len(b.items))
			return a.with(slices.Concat(a.items, b.items))
		}
		if lStr || a != nil && !a.tuple {
			panic(typeErr("can only concatenate %s (not \"%s\") to %[1]s", typeName(l), typeName(r)))
		}
	}
	if op == "*" && isCount(l) {
		return rt.repeat(r, l)
	}
	if op == "*" && isCount(r) {
		return rt.repeat(l, r)
	}
	panic(typeErr("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(l), typeName(r)))
}

// repeat is v * count for text and lists.
func (rt *runtime) repeat(v, count any) any {
	n := max(0, min(clampInt(count), 1<<31)) // beyond any limit, and still safe to multiply with a length
	if s, ok := v.(string); ok {
		rt.text(len(s) * n)
		return strings.Repeat(s, n)
	}
	l, ok := v.(*List)
	if !ok {
		panic(typeErr("unsupported operand type(s) for *: '%s' and 'int'", typeName(v)))
	}
	rt.work(len(l.items) * n)
	return l.with(slices.Repeat(l.items, n))
}
