package jinja

// scope is one level of variables. Scopes hold few names, so a scan beats a map.
type scope struct {
	parent *scope
	vars   []named
}

// named is a variable, or an argument that is given by name.
type named struct {
	name string
	v    any
}

// find returns where the scope has a variable, nil without it.
func (s *scope) find(name string) *any {
	for i := range s.vars {
		if s.vars[i].name == name {
			return &s.vars[i].v
		}
	}
	return nil
}

func (s *scope) set(name string, v any) {
	if at := s.find(name); at != nil {
		*at = v
	} else {
		s.vars = append(s.vars, named{name, v})
	}
}

// lookup finds a variable: scopes from the inside, then the render's
// variables, then the globals.
func (rt *runtime) lookup(sc *scope, name string) any {
	for ; sc != nil; sc = sc.parent {
		if at := sc.find(name); at != nil {
			return *at
		}
	}
	if v, ok := rt.vars[name]; ok {
		return v
	}
	if v, ok := globals[name]; ok {
		return v
	}
	for _, kind := range []string{"function", "variable"} {
		if isUnsupported(kind, name) {
			return &Undefined{kind: RuntimeError, hint: noSuch(kind, name)}
		}
	}
	return &Undefined{name: name}
}
