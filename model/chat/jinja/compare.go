package jinja

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

func (rt *runtime) compareOp(op string, l, r any) bool {
	switch op {
	case "==":
		return rt.equal(l, r)
	case "!=":
		return !rt.equal(l, r)
	case "in":
		return rt.contains(r, l)
	case "not in":
		return !rt.contains(r, l)
	}
	c, ok := rt.order(op, l, r)
	switch {
	case !ok:
		return false
	case c == 0:
		return op == "<=" || op == ">="
	case c < 0:
		return op[0] == '<'
	}
	return op[0] == '>'
}

// equal is Python's ==; values of different types differ, numbers compare by value.
func (rt *runtime) equal(l, r any) bool {
	if ls, ok := l.(string); ok {
		rs, ok := r.(string)
		if !ok {
			return false
		}
		if rt.marks != nil {
			return rt.compareText(ls, rs) == 0
		}
		rt.work(min(len(ls), len(rs)) / 32)
		return ls == rs
	}
	if isNumber(l) && isNumber(r) {
		c, ok := compareNumbers(l, r)
		return ok && c == 0
	}
	if a, b, ok := twoLists(l, r); ok {
		return slices.EqualFunc(a.items, b.items, rt.deepEqual)
	}
	if isUndefined(l) {
		return isUndefined(r)
	}
	a, aDict := l.(*Dict)
	b, bDict := r.(*Dict)
	if !aDict || !bDict {
		return l == r
	}
	if len(a.keys) != len(b.keys) {
		return false
	}
	for i, k := range a.keys {
		if v, ok := rt.get(b, k); !ok || !rt.deepEqual(a.vals[i], v) {
			return false
		}
	}
	return true
}

func (rt *runtime) deepEqual(l, r any) bool {
	rt.enter()
	rt.work(1)
	eq := rt.equal(l, r)
	rt.depth--
	return eq
}

// order compares for <, <=, > and >=; ok is false where neither is smaller
// (NaN). op is only for the error's text.
func (rt *runtime) order(op string, l, r any) (c int, ok bool) {
	if isNumber(l) && isNumber(r) {
		return compareNumbers(l, r)
	}
	needDefined(l)
	needDefined(r)
	ls, lStr := l.(string)
	rs, rStr := r.(string)
	if lStr && rStr {
		return rt.compareText(ls, rs), true
	}
	x, y, ok := twoLists(l, r)
	if !ok {
		panic(typeErr("'%s' not supported between instances of '%s' and '%s'", op, typeName(l), typeName(r)))
	}
	rt.enter()
	a, b := x.items, y.items
	i, shorter := 0, min(len(a), len(b))
	for i < shorter && rt.deepEqual(a[i], b[i]) {
		i++
	}
	c, ok = len(a)-len(b), true
	if i < shorter {
		c, ok = rt.order(op, a[i], b[i])
	}
	rt.depth--
	return c, ok
}

// contains is "v in c".
func (rt *runtime) contains(c, v any) bool {
	switch x := c.(type) {
	case string:
		sub, ok := v.(string)
		if !ok {
			panic(typeErr("'in <string>' requires string as left operand, not %s", typeName(v)))
		}
		rt.text(len(x) + len(sub))
		return strings.Contains(rt.bare(x), rt.bare(sub))
	case *Dict:
		_, ok := rt.get(x, v)
		return ok
	case nil, bool, int64, longInt, float64:
		panic(typeErr("argument of type '%s' is not iterable", typeName(c)))
	}
	for _, it := range rt.iterate(c) {
		if rt.deepEqual(it, v) {
			return true
		}
	}
	return false
}

// compareText compares two texts by their characters. It reads no further than
// to the first difference, and copies nothing.
func (rt *runtime) compareText(a, b string) int {
	rt.work(min(len(a), len(b)) / 32)
	if rt.marks == nil {
		return strings.Compare(a, b)
	}
	for {
		n := commonPrefix(a, b)
		a, b = a[n:], b[n:]
		if a == "" || b == "" {
			return cmp.Compare(len(a), len(b))
		}
		x, xn := utf8.DecodeRuneInString(a)
		y, yn := utf8.DecodeRuneInString(b)
		if c := cmp.Compare(rt.bareRune(x), rt.bareRune(y)); c != 0 {
			return c
		}
		if rt.hits++; rt.hits >= 8 {
			rt.work(0)
		}
		a, b = a[xn:], b[yn:]
	}
}

// commonPrefix is the length of the common prefix in bytes, whole characters only.
func commonPrefix(a, b string) int {
	const block = 64
	n, most := 0, min(len(a), len(b))
	for most-n >= block && a[n:n+block] == b[n:n+block] {
		n += block
	}
	for n < most && a[n] == b[n] {
		n++
	}
	for n > 0 && n < most && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}
