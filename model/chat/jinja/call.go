package jinja

// arguments are those of one call.
type arguments struct {
	Pos []any
	Kw  []keyword
}

type keyword struct {
	Name  string
	Value any
}

var noArguments = &arguments{}

// eval evaluates written arguments.
func (c *callArgs) eval(rt *runtime, sc *scope) (*arguments, error) {
	if len(c.pos) == 0 && len(c.kw) == 0 && c.star == nil {
		return noArguments, nil
	}
	a := &arguments{}
	var err error
	if a.Pos, err = rt.evalAll(c.pos, sc); err != nil {
		return nil, err
	}
	for _, k := range c.kw {
		v, err := rt.eval(k.v, sc)
		if err != nil {
			return nil, err
		}
		a.Kw = append(a.Kw, keyword{k.name, v})
	}
	if c.star != nil {
		v, err := rt.eval(c.star, sc)
		if err != nil {
			return nil, err
		}
		items, err := rt.iterate(v)
		if err != nil {
			return nil, err
		}
		a.Pos = append(a.Pos, items...)
	}
	return a, nil
}

func (e *callExpr) eval(rt *runtime, sc *scope) (any, error) { return e.invoke(rt, sc, nil) }

// invoke calls; caller, if any, is handed over as the keyword of that name.
func (e *callExpr) invoke(rt *runtime, sc *scope, caller *Macro) (any, error) {
	var obj any
	var m *builtin
	var name string
	var f any
	var err error
	// A method call is looked up directly, without making a bound method.
	if at, ok := e.f.(*attrExpr); ok {
		if obj, err = rt.eval(at.x, sc); err != nil {
			return nil, err
		}
		name = at.name
		if m = methodOf(obj, name); m == nil {
			f, err = rt.attr(obj, name)
		}
	} else {
		f, err = rt.eval(e.f, sc)
	}
	if err != nil {
		return nil, err
	}
	a, err := e.args.eval(rt, sc)
	if err != nil {
		return nil, err
	}
	if caller != nil {
		a = &arguments{a.Pos, append(a.Kw[:len(a.Kw):len(a.Kw)], keyword{"caller", caller})}
	}
	if m != nil {
		return m.apply(rt, name, obj, a)
	}
	return rt.callValue(f, a)
}

func (rt *runtime) callValue(f any, a *arguments) (any, error) {
	switch c := f.(type) {
	case *Function:
		return c.of.apply(rt, c.name, c.recv, a)
	case *Macro:
		return c.call(rt, a)
	case *Undefined:
		return nil, c.fail()
	}
	return nil, typeErr("'%s' object is not callable", typeName(f))
}
