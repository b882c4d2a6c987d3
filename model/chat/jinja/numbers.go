package jinja

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

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

// numeral returns a value for conversion to a number, a text without stand-ins.
func (rt *runtime) numeral(v any) any {
	if s, ok := needDefined(v).(string); ok {
		rt.text(len(s))
		return rt.bare(s)
	}
	return v
}

// toInt is Python's int(v) of a number or a text, else int(float(v)).
func toInt(v any) (any, bool) {
	switch x := v.(type) {
	case bool:
		return toInt64(x)
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

// parseFloat is Python's float(s).
func parseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, isSpace)
	if strings.ContainsAny(s, "xXpP") {
		return 0, false // Go reads hexadecimal floats, Python does not
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}
