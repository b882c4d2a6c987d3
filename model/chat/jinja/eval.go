package jinja

import "strings"

func (e *constExpr) eval(*runtime, *scope) (any, error) { return e.v, nil }

func (e *nameExpr) eval(rt *runtime, sc *scope) (any, error) { return rt.lookup(sc, e.name), nil }

func (rt *runtime) evalAll(xs []expr, sc *scope) ([]any, error) {
	vs := make([]any, len(xs))
	for i, x := range xs {
		v, err := rt.eval(x, sc)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	return vs, nil
}

func (e *listExpr) eval(rt *runtime, sc *scope) (any, error) {
	vs, err := rt.evalAll(e.items, sc)
	return &List{vs}, err
}

func (e *tupleExpr) eval(rt *runtime, sc *scope) (any, error) {
	vs, err := rt.evalAll(e.items, sc)
	return &Tuple{vs}, err
}

func (e *dictExpr) eval(rt *runtime, sc *scope) (any, error) {
	d := NewDict(len(e.keys))
	for i := range e.keys {
		k, err := rt.eval(e.keys[i], sc)
		if err != nil {
			return nil, err
		}
		v, err := rt.eval(e.vals[i], sc)
		if err != nil {
			return nil, err
		}
		if err := rt.put(d, k, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (e *condExpr) eval(rt *runtime, sc *scope) (any, error) {
	t, err := rt.eval(e.test, sc)
	if err != nil {
		return nil, err
	}
	if truth(t) {
		return rt.eval(e.then, sc)
	}
	if e.els == nil {
		return &Undefined{hint: "the inline if-expression evaluated to false and no else section was defined."}, nil
	}
	return rt.eval(e.els, sc)
}

func (e *logicExpr) eval(rt *runtime, sc *scope) (any, error) {
	l, err := rt.eval(e.l, sc)
	if err != nil || truth(l) != e.and {
		return l, err
	}
	return rt.eval(e.r, sc)
}

func (e *notExpr) eval(rt *runtime, sc *scope) (any, error) {
	v, err := rt.eval(e.x, sc)
	return !truth(v), err
}

func (e *binaryExpr) eval(rt *runtime, sc *scope) (any, error) {
	l, err := rt.eval(e.l, sc)
	if err != nil {
		return nil, err
	}
	r, err := rt.eval(e.r, sc)
	if err != nil {
		return nil, err
	}
	return rt.binary(e.op, l, r)
}

func (e *unaryExpr) eval(rt *runtime, sc *scope) (any, error) {
	v, err := rt.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*Undefined); ok {
		return nil, u.fail()
	}
	if !isNumber(v) {
		return nil, typeErr("bad operand type for unary %s: '%s'", e.op, typeName(v))
	}
	if e.op == "+" {
		return rt.binary("+", int64(0), v)
	}
	if f, ok := v.(float64); ok {
		return -f, nil
	}
	return rt.binary("-", int64(0), v)
}

func (e *concatExpr) eval(rt *runtime, sc *scope) (any, error) {
	var b strings.Builder
	for _, x := range e.items {
		v, err := rt.eval(x, sc)
		if err != nil {
			return nil, err
		}
		s, err := rt.str(v)
		if err != nil {
			return nil, err
		}
		if err := rt.text(b.Len() + len(s)); err != nil {
			return nil, err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func (e *compareExpr) eval(rt *runtime, sc *scope) (any, error) {
	l, err := rt.eval(e.first, sc)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		r, err := rt.eval(e.rest[i], sc)
		if err != nil {
			return nil, err
		}
		ok, err := rt.compareOp(op, l, r)
		if err != nil || !ok {
			return false, err
		}
		l = r
	}
	return true, nil
}

func (e *attrExpr) eval(rt *runtime, sc *scope) (any, error) {
	v, err := rt.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	return rt.attr(v, e.name)
}

func (e *itemExpr) eval(rt *runtime, sc *scope) (any, error) {
	v, err := rt.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	k, err := rt.eval(e.key, sc)
	if err != nil {
		return nil, err
	}
	return rt.item(v, k)
}

// eval gives a *sliceKey, which only item understands.
func (e *sliceExpr) eval(rt *runtime, sc *scope) (any, error) {
	k := &sliceKey{}
	for _, p := range []struct {
		x  expr
		to *any
	}{{e.lo, &k.lo}, {e.hi, &k.hi}, {e.step, &k.step}} {
		if p.x == nil {
			continue
		}
		v, err := rt.eval(p.x, sc)
		if err != nil {
			return nil, err
		}
		*p.to = v
	}
	return k, nil
}

func (e *filterExpr) eval(rt *runtime, sc *scope) (any, error) {
	v, err := rt.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	return e.apply(rt, sc, v)
}

func (e *filterExpr) apply(rt *runtime, sc *scope, v any) (any, error) {
	a, err := e.args.eval(rt, sc)
	if err != nil {
		return nil, err
	}
	return rt.filter(e.name, v, a)
}

func (e *testExpr) eval(rt *runtime, sc *scope) (any, error) {
	v, err := rt.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	a, err := e.args.eval(rt, sc)
	if err != nil {
		return nil, err
	}
	return rt.test(e.name, v, a)
}
