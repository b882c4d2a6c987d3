package jinja

import "strings"

// binary computes l op r.
func (rt *runtime) binary(op string, l, r any) (any, error) {
	if isNumber(l) && isNumber(r) {
		return arith(op, l, r)
	}
	if u, ok := l.(*Undefined); ok {
		return nil, u.fail()
	}
	ls, lStr := l.(string)
	if lStr && op == "%" {
		return nil, typeErr("string formatting with %% is not supported in chat templates; join the texts with ~")
	}
	if u, ok := r.(*Undefined); ok {
		return nil, u.fail()
	}
	rs, rStr := r.(string)
	switch op {
	case "+":
		switch {
		case lStr && rStr:
			if err := rt.text(len(ls) + len(rs)); err != nil {
				return nil, err
			}
			return ls + rs, nil
		case lStr:
			return nil, typeErr("can only concatenate str (not \"%s\") to str", typeName(r))
		}
		a, aList := l.(*List)
		b, bList := r.(*List)
		if aList && bList {
			items, err := rt.joined(a.items, b.items)
			return &List{items}, err
		}
		if aList {
			return nil, typeErr("can only concatenate list (not \"%s\") to list", typeName(r))
		}
		c, aTup := l.(*Tuple)
		d, bTup := r.(*Tuple)
		if aTup && bTup {
			items, err := rt.joined(c.items, d.items)
			return &Tuple{items}, err
		}
	case "*":
		if isInteger(l) || l == true || l == false {
			return rt.repeat(r, l)
		}
		if isInteger(r) || r == true || r == false {
			return rt.repeat(l, r)
		}
	}
	return nil, typeErr("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(l), typeName(r))
}

func (rt *runtime) joined(a, b []any) ([]any, error) {
	if err := rt.work(len(a) + len(b)); err != nil {
		return nil, err
	}
	return append(append(make([]any, 0, len(a)+len(b)), a...), b...), nil
}

// repeat is v * count for text and lists.
func (rt *runtime) repeat(v, count any) (any, error) {
	times, _ := toInt64(count)
	if l, isLong := count.(longInt); isLong {
		times = l.sign() << 31
	}
	n := int(max(0, min(times, 1<<31))) // beyond any limit, and still safe to multiply with a length
	if s, ok := v.(string); ok {
		if err := rt.text(len(s) * n); err != nil {
			return nil, err
		}
		return strings.Repeat(s, n), nil
	}
	var items []any
	switch x := v.(type) {
	case *List:
		items = x.items
	case *Tuple:
		items = x.items
	default:
		return nil, typeErr("unsupported operand type(s) for *: '%s' and 'int'", typeName(v))
	}
	if err := rt.work(len(items) * n); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(items)*n)
	if len(items) > 0 {
		for range n {
			out = append(out, items...)
		}
	}
	if _, ok := v.(*Tuple); ok {
		return &Tuple{out}, nil
	}
	return &List{out}, nil
}
