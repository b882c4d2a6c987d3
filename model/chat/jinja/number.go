package jinja

import (
	"math"
	"math/big"
)

// maxDigits bounds integers, as Python bounds their conversion to text.
const maxDigits = 4300

const maxBits = 14284 // of an integer with maxDigits digits

// parseInt reads digits of a base, as big.Int takes them. It looks at the length
// first: the time to read n digits grows faster than n.
func parseInt(s string, base int) (any, bool) {
	if len(s) > maxDigits {
		return nil, false
	}
	b, ok := new(big.Int).SetString(s, base)
	if !ok {
		return nil, false
	}
	return normInt(b), true
}

// digits charges for writing or reading an integer's digits.
func (rt *runtime) digits(b *big.Int) error {
	words := b.BitLen() / 64
	return rt.work(words + words*words/64)
}

// bigWork charges for an operation on integers, of which one is large or may
// become so.
func (rt *runtime) bigWork(op string, l, r any) error {
	words := [2]int{1, 1}
	for i, v := range []any{l, r} {
		if b, ok := v.(*big.Int); ok {
			words[i] = 1 + b.BitLen()/64
		}
	}
	if op == "**" && isInteger(l) && isInteger(r) {
		return rt.work(maxBits / 64)
	}
	return rt.work(words[0] * words[1] / 64)
}

func isNumber(v any) bool {
	switch v.(type) {
	case bool, int64, *big.Int, float64:
		return true
	}
	return false
}

// normInt returns int64 where it fits: then *big.Int never equals an int64.
func normInt(b *big.Int) any {
	if b.IsInt64() {
		return b.Int64()
	}
	return b
}

// toBig returns the integer behind bool, int64 or *big.Int.
func toBig(v any) (*big.Int, bool) {
	switch x := v.(type) {
	case bool:
		if x {
			return big.NewInt(1), true
		}
		return new(big.Int), true
	case int64:
		return big.NewInt(x), true
	case *big.Int:
		return x, true
	}
	return nil, false
}

// toFloat converts any number.
func toFloat(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	case bool:
		if x {
			return 1
		}
	case *big.Int:
		f, _ := new(big.Float).SetInt(x).Float64()
		return f
	}
	return 0
}

// arith computes l op r for two numbers.
func arith(op string, l, r any) (any, error) {
	if a, ok := l.(int64); ok {
		if b, ok := r.(int64); ok {
			if v, ok := smallArith(op, a, b); ok {
				return v, nil
			}
		}
	}
	a, aInt := toBig(l)
	b, bInt := toBig(r)
	if !aInt || !bInt || op == "/" || op == "**" && b.Sign() < 0 {
		return floatArith(op, toFloat(l), toFloat(r))
	}
	out := new(big.Int)
	switch op {
	case "+":
		out.Add(a, b)
	case "-":
		out.Sub(a, b)
	case "*":
		out.Mul(a, b)
	case "//", "%":
		if b.Sign() == 0 {
			return nil, newErr(ZeroDivision, "integer division or modulo by zero")
		}
		m := new(big.Int)
		out.DivMod(a, b, m)
		// DivMod is Euclidean; Python floors.
		if m.Sign() != 0 && b.Sign() < 0 {
			out.Sub(out, big.NewInt(1))
			m.Add(m, b)
		}
		if op == "%" {
			out = m
		}
	case "**":
		if !b.IsInt64() || int64(a.BitLen())*max(b.Int64(), 1) > maxBits && a.BitLen() > 1 || b.Int64() < 0 {
			return nil, newErr(LimitError, "integer result is too large")
		}
		if a.BitLen() <= 1 { // 0, 1, -1: the exponent may be huge
			b = new(big.Int).And(b, big.NewInt(1))
			if l, _ := toBig(r); l.Sign() > 0 && b.Sign() == 0 {
				b = big.NewInt(2)
			}
		}
		out.Exp(a, b, nil)
	}
	if out.BitLen() > maxBits {
		return nil, newErr(LimitError, "integer result is too large")
	}
	return normInt(out), nil
}

// smallArith is the common case; false on overflow and whatever needs care.
func smallArith(op string, a, b int64) (any, bool) {
	switch op {
	case "+":
		c := a + b
		return c, (c > a) == (b > 0)
	case "-":
		c := a - b
		return c, (c < a) == (b > 0)
	case "*":
		if a > -1<<31 && a < 1<<31 && b > -1<<31 && b < 1<<31 {
			return a * b, true
		}
	case "//", "%":
		if a < 0 || b <= 0 {
			return nil, false
		}
		if op == "%" {
			return a % b, true
		}
		return a / b, true
	}
	return nil, false
}

func floatArith(op string, a, b float64) (any, error) {
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "**":
		if a == 0 && b < 0 {
			return nil, newErr(ZeroDivision, "0.0 cannot be raised to a negative power")
		}
		p := math.Pow(a, b)
		if math.IsInf(p, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
			return nil, newErr(OverflowError, "(34, 'Numerical result out of range')")
		}
		return p, nil
	}
	if b == 0 {
		return nil, newErr(ZeroDivision, "division by zero")
	}
	if op == "/" {
		return a / b, nil
	}
	m := math.Mod(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	if op == "%" {
		return m, nil
	}
	return math.Floor((a-m)/b + 0.5), nil
}

// compareNumbers returns -1, 0 or 1; ok is false if one is NaN.
func compareNumbers(l, r any) (c int, ok bool) {
	a, aInt := toBig(l)
	b, bInt := toBig(r)
	if x, ok := l.(int64); ok {
		if y, ok := r.(int64); ok {
			switch {
			case x < y:
				return -1, true
			case x > y:
				return 1, true
			}
			return 0, true
		}
	}
	if aInt && bInt {
		return a.Cmp(b), true
	}
	x, y := toFloat(l), toFloat(r)
	switch {
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, x == y
}
