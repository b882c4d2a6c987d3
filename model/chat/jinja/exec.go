package jinja

func (s *textStmt) exec(rt *runtime, _ *scope, out *output) (signal, error) {
	return next, out.write(rt, s.text)
}

func (s *outStmt) exec(rt *runtime, sc *scope, out *output) (signal, error) {
	v, err := rt.eval(s.x, sc)
	if err != nil {
		return next, err
	}
	return next, out.print(rt, v)
}

func (s *ifStmt) exec(rt *runtime, sc *scope, out *output) (signal, error) {
	for i, t := range s.tests {
		v, err := rt.eval(t, sc)
		if err != nil {
			return next, err
		}
		if truth(v) {
			return rt.exec(s.bodies[i], sc, out)
		}
	}
	if len(s.bodies) > len(s.tests) {
		return rt.exec(s.bodies[len(s.tests)], sc, out)
	}
	return next, nil
}

func (s *forStmt) exec(rt *runtime, sc *scope, out *output) (signal, error) {
	v, err := rt.eval(s.iter, sc)
	if err != nil {
		return next, err
	}
	items, err := rt.iterate(v)
	if err != nil {
		return next, err
	}
	if s.test != nil {
		if items, err = s.filter(rt, sc, items); err != nil {
			return next, err
		}
	}
	var lp *loop
	if s.usesLoop {
		lp = &loop{items: items}
	}
	in := &scope{parent: sc}
	for i, it := range items {
		if err := rt.work(2); err != nil {
			return next, err
		}
		if s.captures {
			in = &scope{parent: sc}
		}
		in.vars = in.vars[:0]
		if lp != nil {
			lp.i = i
			in.set("loop", lp)
		}
		if err := rt.assign(in, s.target, it); err != nil {
			return next, err
		}
		sig, err := rt.exec(s.body, in, out)
		if err != nil {
			return next, err
		}
		if sig == brk {
			break
		}
	}
	if len(items) == 0 {
		// An else branch has its own scope.
		_, err = rt.exec(s.els, &scope{parent: sc}, out)
	}
	return next, err
}

// filter keeps the items for which the loop's condition holds.
func (s *forStmt) filter(rt *runtime, sc *scope, items []any) ([]any, error) {
	var kept []any
	for _, it := range items {
		if err := rt.work(2); err != nil {
			return nil, err
		}
		in := &scope{parent: sc}
		if err := rt.assign(in, s.target, it); err != nil {
			return nil, err
		}
		v, err := rt.eval(s.test, in)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			kept = append(kept, it)
		}
	}
	return kept, nil
}

// assign binds v to a target in sc.
func (rt *runtime) assign(sc *scope, t target, v any) error {
	switch {
	case t.parts != nil:
		items, err := rt.iterate(v)
		if err != nil {
			return err
		}
		switch n := len(t.parts); {
		case len(items) < n:
			return newErr(ValueError, "not enough values to unpack (expected %d, got %d)", n, len(items))
		case len(items) > n:
			return newErr(ValueError, "too many values to unpack (expected %d)", n)
		}
		for i, p := range t.parts {
			if err := rt.assign(sc, p, items[i]); err != nil {
				return err
			}
		}
	case t.attr != "":
		ns, ok := rt.lookup(sc, t.name).(*Namespace)
		if !ok {
			return newErr(RuntimeError, "cannot assign attribute on non-namespace object")
		}
		ns.fields.put(t.attr, v)
	default:
		sc.set(t.name, v)
	}
	return nil
}

func (s *setStmt) exec(rt *runtime, sc *scope, _ *output) (signal, error) {
	v, err := rt.eval(s.x, sc)
	if err != nil {
		return next, err
	}
	return next, rt.assign(sc, s.target, v)
}

func (s *setBlockStmt) exec(rt *runtime, sc *scope, _ *output) (signal, error) {
	v, sig, err := rt.captureFiltered(s.body, s.filter, sc)
	if err != nil || sig != next {
		return sig, err
	}
	return next, rt.assign(sc, s.target, v)
}

func (s *filterStmt) exec(rt *runtime, sc *scope, out *output) (signal, error) {
	v, sig, err := rt.captureFiltered(s.body, s.filter, sc)
	if err != nil || sig != next {
		return sig, err
	}
	return next, out.print(rt, v)
}

// captureFiltered is the text of a body, after filters unless filter is nil.
func (rt *runtime) captureFiltered(body []stmt, filter expr, sc *scope) (any, signal, error) {
	text, sig, err := rt.capture(body, &scope{parent: sc})
	if err != nil || sig != next || filter == nil {
		return text, sig, err
	}
	v, err := rt.filterBlock(filter, sc, text)
	return v, next, err
}

// filterBlock applies a chain of filters whose innermost operand is text.
func (rt *runtime) filterBlock(x expr, sc *scope, text string) (any, error) {
	f := x.(*filterExpr)
	var v any = text
	if f.x != nil {
		if err := rt.enter(); err != nil {
			return nil, err
		}
		var err error
		v, err = rt.filterBlock(f.x, sc, text)
		rt.depth--
		if err != nil {
			return nil, err
		}
	}
	return f.apply(rt, sc, v)
}

func (s *macroStmt) exec(_ *runtime, sc *scope, _ *output) (signal, error) {
	sc.set(s.def.name, &Macro{def: s.def, sc: sc})
	return next, nil
}

func (s *callStmt) exec(rt *runtime, sc *scope, out *output) (signal, error) {
	caller := &Macro{def: s.def, sc: sc}
	v, err := s.call.invoke(rt, sc, caller)
	if err != nil {
		return next, err
	}
	return next, out.print(rt, v)
}

func (s *scopeStmt) exec(rt *runtime, sc *scope, out *output) (signal, error) {
	return rt.exec(s.body, &scope{parent: sc}, out)
}

func (s *signalStmt) exec(*runtime, *scope, *output) (signal, error) { return s.sig, nil }
