package jinja

// Macro is a macro or a call block's body, with the scope it was made in.
type Macro struct {
	def *macroDef
	sc  *scope
}

// call binds arguments as Jinja does: positional, then keywords, then
// defaults; what is left goes to varargs, kwargs and caller if the body
// mentions them, and is an error otherwise.
func (m *Macro) call(rt *runtime, a *Args) (any, error) {
	d := m.def
	in := &scope{parent: m.sc}
	if err := rt.work(len(a.Kw) * len(m.def.params) / 8); err != nil {
		return nil, err
	}
	used := make([]bool, len(a.Kw))
	for i, p := range d.params {
		if i < len(a.Pos) {
			in.set(p, a.Pos[i])
			continue
		}
		found := false
		for j, k := range a.Kw {
			if k.Name == p {
				in.set(p, k.Value)
				used[j], found = true, true
			}
		}
		if found {
			continue
		}
		if k := i - (len(d.params) - len(d.defaults)); k >= 0 {
			v, err := rt.eval(d.defaults[k], in)
			if err != nil {
				return nil, err
			}
			in.set(p, v)
			continue
		}
		in.set(p, &Undefined{hint: "parameter '" + p + "' was not provided"})
	}
	if err := m.extras(rt, in, a, used); err != nil {
		return nil, err
	}
	if err := rt.enter(); err != nil {
		rt.depth--
		return nil, err
	}
	text, _, err := rt.capture(d.body, in)
	rt.depth--
	return text, err
}

func (m *Macro) extras(rt *runtime, in *scope, a *Args, used []bool) error {
	d := m.def
	rest := NewDict(0)
	var caller any = &Undefined{hint: "No caller defined"}
	for j, k := range a.Kw {
		switch {
		case used[j]:
		case d.caller && k.Name == "caller":
			caller = k.Value
		case d.kwargs:
			if err := rt.put(rest, k.Name, k.Value); err != nil {
				return err
			}
		default:
			return typeErr("macro '%s' takes no keyword argument '%s'", d.name, k.Name)
		}
	}
	if d.caller {
		in.set("caller", caller)
	}
	if d.kwargs {
		in.set("kwargs", rest)
	}
	switch n := len(d.params); {
	case d.varargs:
		in.set("varargs", &Tuple{items: a.Pos[min(n, len(a.Pos)):]})
	case len(a.Pos) > n:
		return typeErr("macro '%s' takes not more than %d argument(s)", d.name, n)
	}
	return nil
}

// loop is the loop variable.
type loop struct {
	items []any
	i     int // 0-based
	depth int
	stmt  *forStmt
	sc    *scope
	seen  []any // arguments of the last changed()
}

// call runs the loop again on other items: a recursive loop.
func (l *loop) call(rt *runtime, a *Args) (any, error) {
	if !l.stmt.recursive {
		return nil, typeErr("The loop must have the 'recursive' marker to be called recursively.")
	}
	v, err := a.Bind("loop", "iterable")
	if err != nil {
		return nil, err
	}
	if err := rt.enter(); err != nil {
		rt.depth--
		return nil, err
	}
	var out output
	err = l.stmt.run(rt, l.sc, &out, v[0], l.depth+1)
	rt.depth--
	return out.b.String(), err
}

func (l *loop) attr(name string) (any, bool) {
	n := len(l.items)
	switch name {
	case "index":
		return int64(l.i + 1), true
	case "index0":
		return int64(l.i), true
	case "revindex":
		return int64(n - l.i), true
	case "revindex0":
		return int64(n - l.i - 1), true
	case "first":
		return l.i == 0, true
	case "last":
		return l.i == n-1, true
	case "length":
		return int64(n), true
	case "depth":
		return int64(l.depth + 1), true
	case "depth0":
		return int64(l.depth), true
	case "previtem":
		if l.i == 0 {
			return &Undefined{hint: "there is no previous item"}, true
		}
		return l.items[l.i-1], true
	case "nextitem":
		if l.i == n-1 {
			return &Undefined{hint: "there is no next item"}, true
		}
		return l.items[l.i+1], true
	case "cycle":
		return &builtin{"cycle", func(_ *runtime, a *Args) (any, error) {
			if len(a.Pos) == 0 {
				return nil, typeErr("no items for cycling given")
			}
			return a.Pos[l.i%len(a.Pos)], nil
		}}, true
	case "changed":
		return &builtin{"changed", func(rt *runtime, a *Args) (any, error) {
			same := l.seen != nil
			if same {
				var err error
				if same, err = rt.equal(&List{l.seen}, &List{a.Pos}); err != nil {
					return nil, err
				}
			}
			l.seen = append([]any{}, a.Pos...)
			return !same, nil
		}}, true
	}
	return nil, false
}
