package jinja

import (
	"html"
	"strings"
)

// binary computes l op r.
func (rt *runtime) binary(op string, l, r any) (any, error) {
	if isNumber(l) && isNumber(r) {
		if err := rt.bigWork(op, l, r); err != nil {
			return nil, err
		}
		return arith(op, l, r)
	}
	if u, ok := l.(*Undefined); ok {
		return nil, u.fail()
	}
	ls, lStr := asStr(l)
	if lStr && op == "%" {
		return rt.percent(ls, r)
	}
	if u, ok := r.(*Undefined); ok {
		return nil, u.fail()
	}
	rs, rStr := asStr(r)
	switch op {
	case "+":
		switch {
		case lStr && rStr:
			return rt.addText(l, r, ls, rs)
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
			return &Tuple{items: items}, err
		}
	case "*":
		if _, ok := toBig(l); ok {
			return rt.repeat(r, l)
		}
		if _, ok := toBig(r); ok {
			return rt.repeat(l, r)
		}
	}
	return nil, typeErr("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(l), typeName(r))
}

func (rt *runtime) addText(l, r any, ls, rs string) (any, error) {
	if err := rt.text(len(ls) + len(rs)); err != nil {
		return nil, err
	}
	_, lm := l.(Markup)
	_, rm := r.(Markup)
	switch {
	case lm && !rm:
		return Markup(ls + rt.escapeHTML(rs)), nil
	case rm && !lm:
		return Markup(rt.escapeHTML(ls) + rs), nil
	case lm:
		return Markup(ls + rs), nil
	}
	return ls + rs, nil
}

// escapeHTML writes the entities that markupsafe writes, which are html's.
func (rt *runtime) escapeHTML(s string) string { return rt.eachBare(s, html.EscapeString) }

func (rt *runtime) joined(a, b []any) ([]any, error) {
	if err := rt.work(len(a) + len(b)); err != nil {
		return nil, err
	}
	return append(append(make([]any, 0, len(a)+len(b)), a...), b...), nil
}

// repeat is v * count for text and lists.
func (rt *runtime) repeat(v, count any) (any, error) {
	big, _ := toBig(count)
	n := 0
	if big.Sign() > 0 {
		// Beyond any limit, and still safe to multiply with a length.
		n = 1 << 31
		if big.IsInt64() {
			n = int(min(big.Int64(), 1<<31))
		}
	}
	if s, ok := asStr(v); ok {
		if err := rt.text(len(s) * n); err != nil {
			return nil, err
		}
		if _, ok := v.(Markup); ok {
			return Markup(strings.Repeat(s, n)), nil
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
		return &Tuple{items: out}, nil
	}
	return &List{out}, nil
}
