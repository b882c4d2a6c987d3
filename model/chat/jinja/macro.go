package jinja

import "slices"

// Macro is a macro or a call block's body, with the scope it was made in.
type Macro struct {
	def *macroDef
	sc  *scope
}

// call binds arguments as Jinja does: by position, then by keyword, then the
// defaults.
func (m *Macro) call(rt *runtime, a *arguments) (any, error) {
	d := m.def
	if len(a.Pos) > len(d.params) {
		return nil, typeErr("macro '%s' takes not more than %d argument(s)", d.name, len(d.params))
	}
	in := &scope{parent: m.sc}
	if d.caller {
		in.set("caller", &Undefined{hint: "No caller defined"})
	}
	if err := m.keywords(in, a); err != nil {
		return nil, err
	}
	for i, p := range d.params {
		firstDefault := len(d.params) - len(d.defaults)
		switch {
		case i < len(a.Pos):
			in.set(p, a.Pos[i])
		case in.has(p):
		case i >= firstDefault:
			v, err := rt.eval(d.defaults[i-firstDefault], in)
			if err != nil {
				return nil, err
			}
			in.set(p, v)
		default:
			in.set(p, &Undefined{hint: "parameter '" + p + "' was not provided"})
		}
	}
	if err := rt.enter(); err != nil {
		rt.depth--
		return nil, err
	}
	text, _, err := rt.capture(d.body, in)
	rt.depth--
	return text, err
}

// keywords sets the parameters that are given by name.
func (m *Macro) keywords(in *scope, a *arguments) error {
	for _, k := range a.Kw {
		i := slices.Index(m.def.params, k.Name)
		switch {
		case i >= len(a.Pos), i < 0 && m.def.caller && k.Name == "caller":
			in.set(k.Name, k.Value)
		default:
			return typeErr("macro '%s' takes no keyword argument '%s'", m.def.name, k.Name)
		}
	}
	return nil
}

// loop is the loop variable.
type loop struct {
	items []any
	i     int // 0-based
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
	case "cycle", "changed", "depth", "depth0":
		return &Undefined{kind: RuntimeError, hint: "loop." + name + " is not supported in chat templates"}, true
	}
	return nil, false
}
