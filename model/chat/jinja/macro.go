package jinja

import "slices"

// Macro is a macro or a call block's body, with the scope it was made in.
type Macro struct {
	def *macroDef
	sc  *scope
}

// call binds arguments as Jinja does: by position, then by keyword, then the defaults.
func (m *Macro) call(rt *runtime, a args) any {
	d := m.def
	if len(a.pos) > len(d.params) {
		panic(typeErr("macro '%s' takes not more than %d argument(s)", d.name, len(d.params)))
	}
	in := &scope{parent: m.sc}
	if d.caller {
		in.set("caller", &Undefined{hint: "No caller defined"})
	}
	for _, k := range a.kw {
		i := slices.Index(d.params, k.name)
		if i < len(a.pos) && !(i < 0 && d.caller && k.name == "caller") {
			panic(typeErr("macro '%s' takes no keyword argument '%s'", d.name, k.name))
		}
		in.set(k.name, k.v)
	}
	firstDefault := len(d.params) - len(d.defaults)
	for i, p := range d.params {
		switch {
		case i < len(a.pos):
			in.set(p, a.pos[i])
		case in.find(p) != nil:
		case i >= firstDefault:
			in.set(p, rt.eval(d.defaults[i-firstDefault], in))
		default:
			in.set(p, &Undefined{hint: "parameter '" + p + "' was not provided"})
		}
	}
	rt.enter()
	text, _ := rt.capture(d.body, in)
	rt.depth--
	return text
}
