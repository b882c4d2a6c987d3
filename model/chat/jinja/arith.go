package jinja

import (
	"cmp"
	"math"
	"slices"
	"strconv"
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

// maxDigits bounds integers, as Python bounds their conversion to text.
const maxDigits = 4300

// longInt is an integer outside int64, in decimal digits. Templates can print
// and compare it, but not compute with it.
type longInt string

// sign is -1 or 1: the integer 0 is an int64.
func (l longInt) sign() int64 {
	if l[0] == '-' {
		return -1
	}
	return 1
}

// parseInt reads decimal digits, with single underscores between them.
func parseInt(s string) (any, bool) {
	if len(s) > maxDigits {
		return nil, false
	}
	s = strings.ReplaceAll(s, "_", "")
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return n, true
	}
	if err.(*strconv.NumError).Err != strconv.ErrRange {
		return nil, false
	}
	digits := strings.TrimLeft(s, "+-0")
	if s[0] == '-' {
		digits = "-" + digits
	}
	return longInt(digits), true
}

func isNumber(v any) bool { return isCount(v) || is[float64](v) }

func isInteger(v any) bool { return is[int64](v) || is[longInt](v) }

// isCount reports whether v is an integer or, as in Python, a bool.
func isCount(v any) bool { return isInteger(v) || is[bool](v) }

// clampInt reads a count, at most 1<<60 from zero: above any limit; sums do not overflow.
func clampInt(v any) int {
	if !isCount(needDefined(v)) {
		panic(typeErr("'%s' object cannot be interpreted as an integer", typeName(v)))
	}
	if l, ok := v.(longInt); ok {
		return int(l.sign()) << 60
	}
	i, _ := toInt64(v)
	return int(max(min(i, 1<<60), -1<<60))
}

// toInt64 returns the integer of a bool or int64.
func toInt64(v any) (int64, bool) {
	switch x := v.(type) {
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	case int64:
		return x, true
	}
	return 0, false
}

// toFloat converts any number.
func toFloat(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case longInt:
		f, _ := strconv.ParseFloat(string(x), 64)
		return f
	}
	n, _ := toInt64(v)
	return float64(n)
}

func floatToInt(f float64) (any, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, false
	}
	return parseInt(strconv.FormatFloat(math.Trunc(f), 'f', 0, 64))
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

// compareNumbers returns -1, 0 or 1; ok is false if one is NaN.
func compareNumbers(l, r any) (c int, ok bool) {
	if a, ok := toInt64(l); ok {
		if b, ok := toInt64(r); ok {
			return cmp.Compare(a, b), true
		}
	}
	a, aLong := l.(longInt)
	b, bLong := r.(longInt)
	if aLong && bLong && a.sign() == b.sign() {
		return int(a.sign()) * cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)), true
	}
	x, y := toFloat(l), toFloat(r)
	return cmp.Compare(x, y), x == x && y == y
}
