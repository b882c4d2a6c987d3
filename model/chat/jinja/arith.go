package jinja

import (
	"math"
	"slices"
	"strings"
)

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

// arith computes l op r for two numbers.
func arith(op string, l, r any) any {
	a, aShort := toInt64(l)
	b, bShort := toInt64(r)
	switch {
	case op == "/" || is[float64](l) || is[float64](r):
		return floatArith(op, toFloat(l), toFloat(r))
	case aShort && bShort:
		if c, fits := intArith(op, a, b); fits {
			return c
		}
	}
	panic(newErr(OverflowError, "integers of more than 64 bits can be printed and compared, but not computed with"))
}

// intArith also reports whether the result fits.
func intArith(op string, a, b int64) (c int64, fits bool) {
	switch op {
	case "+":
		c = a + b
		return c, (c > a) == (b > 0)
	case "-":
		c = a - b
		return c, (c < a) == (b > 0)
	case "*":
		c = a * b
		return c, a == 0 || c/a == b && !(a == -1 && b == math.MinInt64)
	}
	// "//" and "%" round down.
	if b == 0 {
		panic(newErr(ZeroDivision, "integer division or modulo by zero"))
	}
	quotient, rest := a/b, a%b
	if rest != 0 && (rest < 0) != (b < 0) {
		quotient, rest = quotient-1, rest+b
	}
	if op == "%" {
		return rest, true
	}
	return quotient, !(a == math.MinInt64 && b == -1)
}

func floatArith(op string, a, b float64) float64 {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	}
	if b == 0 {
		panic(newErr(ZeroDivision, "division by zero"))
	}
	if op == "/" {
		return a / b
	}
	rest := math.Mod(a, b)
	if rest != 0 && (rest < 0) != (b < 0) {
		rest += b
	}
	if op == "%" {
		return rest
	}
	return math.Floor((a-rest)/b + 0.5)
}
