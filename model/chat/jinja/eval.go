package jinja

import "strings"

func (rt *runtime) eval(x expr, sc *scope) any {
	rt.enter()
	rt.work(1)
	v := x.eval(rt, sc)
	rt.depth--
	return v
}

func (rt *runtime) evalAll(xs []expr, sc *scope) []any {
	vs := make([]any, len(xs))
	for i, x := range xs {
		vs[i] = rt.eval(x, sc)
	}
	return vs
}

func (e *constExpr) eval(*runtime, *scope) any { return e.v }

func (e *nameExpr) eval(rt *runtime, sc *scope) any { return rt.lookup(sc, e.name) }

func (e *listExpr) eval(rt *runtime, sc *scope) any { return &List{rt.evalAll(e.items, sc), e.tuple} }

func (e *dictExpr) eval(rt *runtime, sc *scope) any {
	d := NewDict(len(e.keys))
	for i, key := range e.keys {
		k := rt.eval(key, sc)
		rt.put(d, k, rt.eval(e.vals[i], sc))
	}
	return d
}

func (e *condExpr) eval(rt *runtime, sc *scope) any {
	if truth(rt.eval(e.test, sc)) {
		return rt.eval(e.then, sc)
	}
	return rt.eval(e.els, sc)
}

func (e *logicExpr) eval(rt *runtime, sc *scope) any {
	if l := rt.eval(e.l, sc); truth(l) != e.and {
		return l
	}
	return rt.eval(e.r, sc)
}

func (e *notExpr) eval(rt *runtime, sc *scope) any { return !truth(rt.eval(e.x, sc)) }

func (e *binaryExpr) eval(rt *runtime, sc *scope) any {
	l := rt.eval(e.l, sc)
	return rt.binary(e.op, l, rt.eval(e.r, sc))
}

func (e *unaryExpr) eval(rt *runtime, sc *scope) any {
	v := needDefined(rt.eval(e.x, sc))
	if !isNumber(v) {
		panic(typeErr("bad operand type for unary %s: '%s'", e.op, typeName(v)))
	}
	if f, ok := v.(float64); ok && e.op == "-" {
		return -f // 0 - f would lose the sign of zero
	}
	return arith(e.op, int64(0), v)
}

func (e *concatExpr) eval(rt *runtime, sc *scope) any {
	var b strings.Builder
	for _, x := range e.items {
		s := rt.str(rt.eval(x, sc))
		rt.text(b.Len() + len(s))
		b.WriteString(s)
	}
	return b.String()
}

func (e *compareExpr) eval(rt *runtime, sc *scope) any {
	l := rt.eval(e.first, sc)
	for i, op := range e.ops {
		r := rt.eval(e.rest[i], sc)
		if !rt.compareOp(op, l, r) {
			return false
		}
		l = r
	}
	return true
}

func (e *attrExpr) eval(rt *runtime, sc *scope) any { return rt.attr(rt.eval(e.x, sc), e.name) }

func (e *itemExpr) eval(rt *runtime, sc *scope) any {
	v := rt.eval(e.x, sc)
	return rt.item(v, rt.eval(e.key, sc))
}

// eval returns a *sliceKey, which only item understands.
func (e *sliceExpr) eval(rt *runtime, sc *scope) any {
	return &sliceKey{rt.eval(e.lo, sc), rt.eval(e.hi, sc), rt.eval(e.step, sc)}
}

func (e *builtinExpr) eval(rt *runtime, sc *scope) any {
	v := rt.eval(e.x, sc)
	return rt.builtin(e.kind, e.name, v, e.args.eval(rt, sc))
}

func (c *callArgs) eval(rt *runtime, sc *scope) (a args) {
	if len(c.pos) > 0 {
		a.pos = rt.evalAll(c.pos, sc)
	}
	for _, k := range c.kw {
		a.kw = append(a.kw, named{k.name, rt.eval(k.v, sc)})
	}
	if c.star != nil {
		a.pos = append(a.pos, rt.iterate(rt.eval(c.star, sc))...)
	}
	return a
}

func (e *macroExpr) eval(_ *runtime, sc *scope) any { return &Macro{e.macroDef, sc} }

// eval calls. A method is called without making a Function of it.
func (e *callExpr) eval(rt *runtime, sc *scope) any {
	at, ok := e.f.(*attrExpr)
	if !ok {
		f := rt.eval(e.f, sc)
		return rt.call(f, e.args.eval(rt, sc))
	}
	obj := rt.eval(at.x, sc)
	if m := methodOf(obj, at.name); m != nil {
		return m.apply(rt, at.name, obj, e.args.eval(rt, sc))
	}
	f := rt.attr(obj, at.name)
	return rt.call(f, e.args.eval(rt, sc))
}

func (rt *runtime) call(f any, a args) any {
	switch c := needDefined(f).(type) {
	case *Function:
		return c.of.apply(rt, c.name, c.recv, a)
	case *Macro:
		return c.call(rt, a)
	}
	panic(typeErr("'%s' object is not callable", typeName(f)))
}
