package jinja

// pickFilters are map, select, reject and their variants by attribute.
func pickFilters() map[string]filterFunc {
	return map[string]filterFunc{
		"map":        mapFilter,
		"select":     pickFilter(false, true),
		"reject":     pickFilter(false, false),
		"selectattr": pickFilter(true, true),
		"rejectattr": pickFilter(true, false),
	}
}

// mapFilter is map(attribute='a', default=…) or map('filter', args…).
func mapFilter(rt *runtime, v any, a *Args) (any, error) {
	items, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(a.Pos) == 0 {
		o, err := a.Bind("map", "attribute", "default?")
		if err != nil {
			return nil, err
		}
		items, err = rt.attrs(items, o[0], o[1])
		return &iterator{items}, err
	}
	name, err := orStr(a.Pos[0], "")
	if err != nil {
		return nil, err
	}
	rest := &Args{a.Pos[1:], a.Kw}
	out := make([]any, len(items))
	for i, it := range items {
		if err := rt.work(1); err != nil {
			return nil, err
		}
		if out[i], err = rt.filter(name, it, rest); err != nil {
			return nil, err
		}
	}
	return &iterator{out}, nil
}

// pickFilter keeps the items for which a test (or, without one, truth) gives
// keep. byAttr: the first argument names what of the item is tested.
func pickFilter(byAttr, keep bool) filterFunc {
	return func(rt *runtime, v any, a *Args) (any, error) {
		if isUndefined(v) || !truth(v) {
			if _, err := rt.iterate(v); v == nil || err == nil {
				return &iterator{}, nil // as Python: an empty or missing operand gives nothing
			}
		}
		items, err := rt.iterate(v)
		if err != nil {
			return nil, err
		}
		args := a.Pos
		subjects := items
		if byAttr {
			if len(args) == 0 {
				return nil, newErr(RuntimeError, "Missing parameter for attribute name")
			}
			if subjects, err = rt.attrs(items, args[0], absent); err != nil {
				return nil, err
			}
			args = args[1:]
		}
		var out []any
		for i, s := range subjects {
			ok := truth(s)
			if len(args) > 0 {
				name, err := orStr(args[0], "")
				if err != nil {
					return nil, err
				}
				if ok, err = rt.test(name, s, &Args{args[1:], a.Kw}); err != nil {
					return nil, err
				}
			}
			if err := rt.work(1); err != nil {
				return nil, err
			}
			if ok == keep {
				out = append(out, items[i])
			}
		}
		return &iterator{out}, nil
	}
}
