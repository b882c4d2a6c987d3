package jinja

import "strings"

// Args are the arguments of one call.
type Args struct {
	Pos []any
	Kw  []KwArg
}

// KwArg is one keyword argument.
type KwArg struct {
	Name  string
	Value any
}

var noArgs = &Args{}

// Function is a Go function that templates can call. Its errors reach the
// caller of Render through errors.As.
type Function func(a *Args) (any, error)

// callable is any value that can be called.
type callable interface {
	call(rt *runtime, a *Args) (any, error)
}

func (f Function) call(_ *runtime, a *Args) (any, error) {
	v, err := f(a)
	if err == nil {
		return v, nil
	}
	if e, ok := err.(*Error); ok {
		return nil, e
	}
	return nil, &Error{Kind: RuntimeError, Msg: err.Error(), Err: err}
}

// builtin is a function of the package: a global or a bound method.
type builtin struct {
	name string
	fn   func(rt *runtime, a *Args) (any, error)
}

func (b *builtin) call(rt *runtime, a *Args) (any, error) { return b.fn(rt, a) }

// absent marks a parameter that was not given.
type absentType struct{}

var absent = absentType{}

// Bind matches arguments to parameter names as Python does. A name with a
// trailing "?" is optional and, if not given, stays the package's mark for
// absence; use the or… helpers.
func (a *Args) Bind(fn string, params ...string) ([]any, error) {
	if len(a.Pos) > len(params) {
		return nil, typeErr("%s() takes at most %d arguments (%d given)", fn, len(params), len(a.Pos))
	}
	out := make([]any, len(params))
	copy(out, a.Pos)
	for i := len(a.Pos); i < len(params); i++ {
		out[i] = absent
	}
kw:
	for _, k := range a.Kw {
		for i, p := range params {
			if strings.TrimSuffix(p, "?") == k.Name {
				if out[i] != any(absent) {
					return nil, typeErr("%s() got multiple values for argument '%s'", fn, k.Name)
				}
				out[i] = k.Value
				continue kw
			}
		}
		return nil, typeErr("%s() got an unexpected keyword argument '%s'", fn, k.Name)
	}
	for i, p := range params {
		if out[i] == any(absent) && !strings.HasSuffix(p, "?") {
			return nil, typeErr("%s() missing required argument '%s'", fn, p)
		}
	}
	return out, nil
}

// orInt reads an integer parameter.
func orInt(v any, def int) (int, error) {
	switch n := v.(type) {
	case absentType:
		return def, nil
	case bool:
		if n {
			return 1, nil
		}
		return 0, nil
	case int64:
		if n > 1<<31 || n < -1<<31 {
			return 0, newErr(OverflowError, "integer %d is too large here", n)
		}
		return int(n), nil
	case *Undefined:
		return 0, n.fail()
	}
	return 0, typeErr("'%s' object cannot be interpreted as an integer", typeName(v))
}

// orStr reads a string parameter.
func orStr(v any, def string) (string, error) {
	if v == any(absent) {
		return def, nil
	}
	if s, ok := asStr(v); ok {
		return s, nil
	}
	if u, ok := v.(*Undefined); ok {
		return "", u.fail()
	}
	return "", typeErr("expected str, got %s", typeName(v))
}

func orBool(v any, def bool) bool {
	if v == any(absent) {
		return def
	}
	return truth(v)
}

func orValue(v, def any) any {
	if v == any(absent) {
		return def
	}
	return v
}

// eval evaluates written arguments.
func (c *callArgs) eval(rt *runtime, sc *scope) (*Args, error) {
	if len(c.pos) == 0 && len(c.kw) == 0 && c.star == nil && c.dstar == nil {
		return noArgs, nil
	}
	a := &Args{}
	var err error
	if a.Pos, err = rt.evalAll(c.pos, sc); err != nil {
		return nil, err
	}
	for _, k := range c.kw {
		v, err := rt.eval(k.v, sc)
		if err != nil {
			return nil, err
		}
		a.Kw = append(a.Kw, KwArg{k.name, v})
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
	if c.dstar != nil {
		v, err := rt.eval(c.dstar, sc)
		if err != nil {
			return nil, err
		}
		d, ok := v.(*Dict)
		if !ok {
			return nil, typeErr("argument after ** must be a mapping, not %s", typeName(v))
		}
		if err := rt.work(2 * len(d.keys)); err != nil {
			return nil, err
		}
		for i, k := range d.keys {
			name, ok := asStr(rt.bareKey(k))
			if !ok {
				return nil, typeErr("keywords must be strings")
			}
			a.Kw = append(a.Kw, KwArg{name, d.vals[i]})
		}
	}
	return a, nil
}

func (e *callExpr) eval(rt *runtime, sc *scope) (any, error) { return e.invoke(rt, sc, nil) }

// invoke calls; caller, if any, is handed over as the keyword of that name.
func (e *callExpr) invoke(rt *runtime, sc *scope, caller *Macro) (any, error) {
	var obj any
	var m method
	var f any
	var err error
	// A method call is looked up directly, without making a bound method.
	if at, ok := e.f.(*attrExpr); ok {
		if obj, err = rt.eval(at.x, sc); err != nil {
			return nil, err
		}
		if m = methodOf(obj, at.name); m == nil {
			f, err = rt.attr(obj, at.name)
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
		a = &Args{a.Pos, append(a.Kw[:len(a.Kw):len(a.Kw)], KwArg{"caller", caller})}
	}
	if m != nil {
		return m(rt, obj, a)
	}
	return rt.callValue(f, a)
}

func (rt *runtime) callValue(f any, a *Args) (any, error) {
	switch c := f.(type) {
	case callable:
		return c.call(rt, a)
	case *Undefined:
		return nil, c.fail()
	}
	return nil, typeErr("'%s' object is not callable", typeName(f))
}

// Text returns the text of a string, Markup, number, bool or None as a
// template prints it, for use in a Function.
func Text(v any) string { return plain(v) }
