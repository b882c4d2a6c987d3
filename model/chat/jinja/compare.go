package jinja

import "strings"

func (rt *runtime) compareOp(op string, l, r any) (bool, error) {
	switch op {
	case "==":
		return rt.equal(l, r)
	case "!=":
		eq, err := rt.equal(l, r)
		return !eq, err
	case "in":
		return rt.contains(r, l)
	case "not in":
		in, err := rt.contains(r, l)
		return !in, err
	}
	c, ok, err := rt.order(op, l, r)
	if err != nil || !ok {
		return false, err
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

// equal is Python's ==; values of different types differ, numbers compare by
// value.
func (rt *runtime) equal(l, r any) (bool, error) {
	if ls, ok := l.(string); ok {
		rs, ok := r.(string)
		if !ok {
			return false, nil
		}
		if rt.marks != nil {
			c, err := rt.compareText(ls, rs)
			return c == 0, err
		}
		err := rt.work(min(len(ls), len(rs)) / 32)
		return ls == rs, err
	}
	if isNumber(l) && isNumber(r) {
		c, ok := compareNumbers(l, r)
		return ok && c == 0, nil
	}
	switch a := l.(type) {
	case nil:
		return r == nil, nil
	case *Undefined:
		_, ok := r.(*Undefined)
		return ok, nil
	case *List:
		if b, ok := r.(*List); ok {
			return rt.equalItems(a.items, b.items)
		}
		return false, nil
	case *Tuple:
		if b, ok := r.(*Tuple); ok {
			return rt.equalItems(a.items, b.items)
		}
		return false, nil
	case *Dict:
		b, ok := r.(*Dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false, nil
		}
		for i, k := range a.keys {
			if err := rt.hashable(k); err != nil {
				return false, err
			}
			v, ok := b.get(rt.bareKey(k))
			if !ok {
				return false, nil
			}
			if eq, err := rt.deepEqual(a.vals[i], v); err != nil || !eq {
				return false, err
			}
		}
		return true, nil
	}
	return l == r, nil
}

func (rt *runtime) equalItems(a, b []any) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if eq, err := rt.deepEqual(a[i], b[i]); err != nil || !eq {
			return false, err
		}
	}
	return true, nil
}

func (rt *runtime) deepEqual(l, r any) (bool, error) {
	if err := rt.enter(); err != nil {
		return false, err
	}
	defer func() { rt.depth-- }()
	if err := rt.work(1); err != nil {
		return false, err
	}
	return rt.equal(l, r)
}

// order compares for <, <=, > and >=; ok is false where neither is smaller
// (NaN). op is only for the error's text.
func (rt *runtime) order(op string, l, r any) (c int, ok bool, err error) {
	if isNumber(l) && isNumber(r) {
		c, ok = compareNumbers(l, r)
		return c, ok, nil
	}
	for _, v := range []any{l, r} {
		if u, ok := v.(*Undefined); ok {
			return 0, false, u.fail()
		}
	}
	if ls, isStr := l.(string); isStr {
		if rs, isStr := r.(string); isStr {
			c, err := rt.compareText(ls, rs)
			return c, true, err
		}
	}
	var a, b []any
	switch x := l.(type) {
	case *List:
		if y, isList := r.(*List); isList {
			a, b, ok = x.items, y.items, true
		}
	case *Tuple:
		if y, isTuple := r.(*Tuple); isTuple {
			a, b, ok = x.items, y.items, true
		}
	}
	if !ok {
		return 0, false, typeErr("'%s' not supported between instances of '%s' and '%s'", op, typeName(l), typeName(r))
	}
	if err := rt.enter(); err != nil {
		return 0, false, err
	}
	defer func() { rt.depth-- }()
	for i := 0; i < len(a) && i < len(b); i++ {
		eq, err := rt.deepEqual(a[i], b[i])
		if err != nil {
			return 0, false, err
		}
		if !eq {
			return rt.order(op, a[i], b[i])
		}
	}
	return len(a) - len(b), true, nil
}

// contains is "v in c".
func (rt *runtime) contains(c, v any) (bool, error) {
	switch x := c.(type) {
	case string:
		sub, ok := v.(string)
		if !ok {
			return false, typeErr("'in <string>' requires string as left operand, not %s", typeName(v))
		}
		if err := rt.text(len(x) + len(sub)); err != nil {
			return false, err
		}
		return strings.Contains(rt.bare(x), rt.bare(sub)), nil
	case *Dict:
		if err := rt.hashable(v); err != nil {
			return false, err
		}
		_, ok := x.get(rt.bareKey(v))
		return ok, nil
	}
	items, err := rt.iterate(c)
	if err != nil {
		if c == nil || isNumber(c) {
			return false, typeErr("argument of type '%s' is not iterable", typeName(c))
		}
		return false, err
	}
	for _, it := range items {
		if eq, err := rt.deepEqual(it, v); err != nil || eq {
			return eq, err
		}
	}
	return false, nil
}
