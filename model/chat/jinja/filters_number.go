package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

func numberFilters() map[string]filterFunc {
	return map[string]filterFunc{
		"abs": func(rt *runtime, v any, a *Args) (any, error) {
			if _, err := a.Bind("abs"); err != nil {
				return nil, err
			}
			if u, ok := v.(*Undefined); ok {
				return nil, u.fail()
			}
			if !isNumber(v) {
				return nil, typeErr("bad operand type for abs(): '%s'", typeName(v))
			}
			if f, ok := v.(float64); ok {
				return math.Abs(f), nil
			}
			if c, _ := compareNumbers(v, int64(0)); c < 0 {
				return arith("-", int64(0), v)
			}
			return arith("+", int64(0), v)
		},
		"int": func(rt *runtime, v any, a *Args) (any, error) {
			o, err := a.Bind("int", "default?", "base?")
			if err != nil {
				return nil, err
			}
			base, err := orInt(o[1], 10)
			if err != nil {
				return nil, err
			}
			if u, ok := v.(*Undefined); ok {
				return nil, u.fail()
			}
			if s, ok := asStr(v); ok {
				// Some digits take 50 µs.
				if err := rt.work(min(len(s), maxDigits) / 8); err != nil {
					return nil, err
				}
				v = rt.bare(s)
			}
			if n, ok := toInt(v, base); ok {
				return n, nil
			}
			return orValue(o[0], int64(0)), nil
		},
		"float": func(rt *runtime, v any, a *Args) (any, error) {
			o, err := a.Bind("float", "default?")
			if err != nil {
				return nil, err
			}
			if u, ok := v.(*Undefined); ok {
				return nil, u.fail()
			}
			if isNumber(v) {
				return toFloat(v), nil
			}
			if s, ok := asStr(v); ok {
				if err := rt.text(len(s)); err != nil {
					return nil, err
				}
				if f, ok := parseFloat(rt.bare(s)); ok {
					return f, nil
				}
			}
			return orValue(o[0], 0.0), nil
		},
		"round": roundFilter,
	}
}

// parseFloat is Python's float(s).
func parseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, isSpace)
	if strings.ContainsAny(s, "xXpP") {
		return 0, false // Go reads hexadecimal floats, Python does not
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// toInt is the filter int: Python's int(s, base), else int(float(s)).
func toInt(v any, base int) (any, bool) {
	switch x := v.(type) {
	case bool, int64, *big.Int:
		b, _ := toBig(x)
		return normInt(b), true
	case float64:
		return floatToInt(x)
	}
	s, ok := asStr(v)
	if !ok || len(s) > maxDigits {
		return nil, false
	}
	t := strings.TrimFunc(s, isSpace)
	if base == 0 || base >= 2 && base <= 36 {
		digits := t
		for _, p := range map[int][]string{16: {"0x", "0X"}, 8: {"0o", "0O"}, 2: {"0b", "0B"}}[base] {
			digits = strings.TrimPrefix(digits, p)
		}
		if n, ok := parseInt(strings.ReplaceAll(digits, "_", ""), base); ok {
			return n, true
		}
	}
	if f, ok := parseFloat(s); ok {
		return floatToInt(f)
	}
	return nil, false
}

func floatToInt(f float64) (any, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, false
	}
	b, _ := new(big.Float).SetFloat64(f).Int(nil)
	return normInt(b), true
}

// roundFilter is Python's round for 'common' (half to even on the exact
// value), and ceil or floor at the given decimal place.
func roundFilter(rt *runtime, v any, a *Args) (any, error) {
	o, err := a.Bind("round", "precision?", "method?")
	if err != nil {
		return nil, err
	}
	prec, err := orInt(o[0], 0)
	if err != nil {
		return nil, err
	}
	how, err := orStr(o[1], "common")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*Undefined); ok {
		return nil, u.fail()
	}
	if !isNumber(v) {
		return nil, typeErr("type %s doesn't define __round__ method", typeName(v))
	}
	f := toFloat(v)
	scale := math.Pow10(min(max(prec, -400), 400))
	switch how {
	case "common":
		if _, isFloat := v.(float64); !isFloat && prec >= 0 {
			return arith("+", int64(0), v)
		}
		if math.IsInf(f, 0) || math.IsNaN(f) || prec > 300 {
			return f, nil
		}
		if prec < 0 {
			r := math.RoundToEven(f*scale) / scale
			if _, isFloat := v.(float64); !isFloat {
				n, _ := floatToInt(r)
				return n, nil
			}
			return r, nil
		}
		r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', prec, 64), 64)
		return r, err
	case "ceil":
		return math.Ceil(f*scale) / scale, nil
	case "floor":
		return math.Floor(f*scale) / scale, nil
	}
	return nil, newErr(RuntimeError, "method must be common, ceil or floor")
}
