package jinja

// method is a method of a built-in type; recv is the value it is called on.
type method func(rt *runtime, recv any, a *Args) (any, error)

// methodOf finds a method by the type of v, nil if there is none.
func methodOf(v any, name string) method {
	switch v.(type) {
	case string, Markup:
		return strMethods[name]
	case *Dict:
		return dictMethods[name]
	case *List:
		return listMethods[name]
	case *Tuple:
		if name != "copy" {
			return listMethods[name]
		}
	case *cycler:
		return cyclerMethods[name]
	case float64:
		if name == "is_integer" {
			return func(_ *runtime, recv any, _ *Args) (any, error) {
				f := recv.(float64)
				return f == float64(int64(f)), nil
			}
		}
	}
	return nil
}

var dictMethods map[string]method

var listMethods map[string]method

func init() {
	dictMethods = map[string]method{
		"get": func(rt *runtime, recv any, a *Args) (any, error) {
			if len(a.Pos) == 0 || len(a.Pos) > 2 || len(a.Kw) > 0 {
				return nil, typeErr("get expected 1 or 2 positional arguments")
			}
			if err := rt.hashable(a.Pos[0]); err != nil {
				return nil, err
			}
			if v, ok := recv.(*Dict).get(rt.bareKey(a.Pos[0])); ok {
				return v, nil
			}
			if len(a.Pos) == 2 {
				return a.Pos[1], nil
			}
			return nil, nil
		},
		"items":  dictView("items"),
		"keys":   dictView("keys"),
		"values": dictView("values"),
		"copy": func(_ *runtime, recv any, a *Args) (any, error) {
			_, err := a.Bind("copy")
			return recv, err // nothing can change either
		},
	}
	listMethods = map[string]method{
		"index": func(rt *runtime, recv any, a *Args) (any, error) {
			v, err := a.Bind("index", "value", "start?", "stop?")
			if err != nil {
				return nil, err
			}
			items, err := rt.iterate(recv)
			if err != nil {
				return nil, err
			}
			key := &sliceKey{}
			if v[1] != any(absent) {
				key.lo = v[1]
			}
			if v[2] != any(absent) {
				key.hi = v[2]
			}
			start, _, count, err := key.bounds(len(items))
			if err != nil {
				return nil, err
			}
			for i := start; i < start+count; i++ {
				if eq, err := rt.deepEqual(items[i], v[0]); err != nil || eq {
					return int64(i), err
				}
			}
			return nil, newErr(ValueError, "value is not in %s", typeName(recv))
		},
		"count": func(rt *runtime, recv any, a *Args) (any, error) {
			v, err := a.Bind("count", "value")
			if err != nil {
				return nil, err
			}
			items, err := rt.iterate(recv)
			if err != nil {
				return nil, err
			}
			n := int64(0)
			for _, it := range items {
				eq, err := rt.deepEqual(it, v[0])
				if err != nil {
					return nil, err
				}
				if eq {
					n++
				}
			}
			return n, nil
		},
		"copy": func(_ *runtime, recv any, a *Args) (any, error) {
			_, err := a.Bind("copy")
			return recv, err
		},
	}
}

func dictView(what string) method {
	return func(_ *runtime, recv any, a *Args) (any, error) {
		_, err := a.Bind(what)
		return &view{recv.(*Dict), what}, err
	}
}
