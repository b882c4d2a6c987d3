package jinja

func listFilters() map[string]filterFunc {
	return map[string]filterFunc{
		"default": func(rt *runtime, v any, a *Args) (any, error) {
			o, err := a.Bind("default", "default_value?", "boolean?")
			if err != nil {
				return nil, err
			}
			if isUndefined(v) || orBool(o[1], false) && !truth(v) {
				return orValue(o[0], ""), nil
			}
			return v, nil
		},
		"length": func(rt *runtime, v any, a *Args) (any, error) {
			if _, err := a.Bind("length"); err != nil {
				return nil, err
			}
			n, ok, err := rt.length(v)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, typeErr("object of type '%s' has no len()", typeName(v))
			}
			return int64(n), nil
		},
		"first": func(rt *runtime, v any, a *Args) (any, error) { return rt.end(v, a, "first") },
		"last": func(rt *runtime, v any, a *Args) (any, error) {
			if it, ok := v.(*iterator); ok {
				return nil, typeErr("'%s' object is not reversible", typeName(it))
			}
			return rt.end(v, a, "last")
		},
		"list": func(rt *runtime, v any, a *Args) (any, error) {
			if _, err := a.Bind("list"); err != nil {
				return nil, err
			}
			items, err := rt.iterate(v)
			return &List{items}, err
		},
		"items": func(rt *runtime, v any, a *Args) (any, error) {
			if isUndefined(v) {
				return &iterator{}, nil
			}
			d, ok := v.(*Dict)
			if !ok {
				return nil, typeErr("Can only get item pairs from a mapping.")
			}
			items, err := rt.viewItems(&view{d, "items"})
			return &iterator{items}, err
		},
		"join": func(rt *runtime, v any, a *Args) (any, error) {
			o, err := a.Bind("join", "d?", "attribute?")
			if err != nil {
				return nil, err
			}
			sep, err := rt.str(orValue(o[0], ""))
			if err != nil {
				return nil, err
			}
			items, err := rt.iterate(v)
			if err == nil && orValue(o[1], nil) != nil {
				items, err = rt.attrs(items, o[1], absent)
			}
			if err != nil {
				return nil, err
			}
			return rt.join(items, sep)
		},
		"reverse": func(rt *runtime, v any, a *Args) (any, error) {
			if _, err := a.Bind("reverse"); err != nil {
				return nil, err
			}
			if s, ok := asStr(v); ok {
				return rt.slice(s, &sliceKey{step: int64(-1)})
			}
			items, err := rt.iterate(v)
			if err != nil {
				return nil, err
			}
			out := make([]any, len(items))
			for i, it := range items {
				out[len(items)-1-i] = it
			}
			return &iterator{out}, nil
		},
		"sum": func(rt *runtime, v any, a *Args) (any, error) {
			o, err := a.Bind("sum", "attribute?", "start?")
			if err != nil {
				return nil, err
			}
			items, err := rt.iterate(v)
			if err == nil && orValue(o[0], nil) != nil {
				items, err = rt.attrs(items, o[0], absent)
			}
			sum := orValue(o[1], int64(0))
			for i := 0; i < len(items) && err == nil; i++ {
				sum, err = rt.binary("+", sum, items[i])
			}
			return sum, err
		},
		"batch": batchFilter,
		"slice": sliceFilter,
		"attr": func(rt *runtime, v any, a *Args) (any, error) {
			o, err := a.Bind("attr", "name")
			if err != nil {
				return nil, err
			}
			name, err := orStr(o[0], "")
			if err != nil {
				return nil, err
			}
			if _, ok := v.(*Dict); ok && methodOf(v, name) == nil {
				return &Undefined{obj: v, of: true, name: name}, nil // attributes only, no keys
			}
			return rt.attr(v, name)
		},
	}
}

// end is the first or last element, undefined if there is none.
func (rt *runtime) end(v any, a *Args, which string) (any, error) {
	if _, err := a.Bind(which); err != nil {
		return nil, err
	}
	items, err := rt.iterate(v)
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return &Undefined{hint: "No " + which + " item, sequence was empty."}, nil
	case which == "first":
		if it, ok := v.(*iterator); ok {
			it.rest = items[1:]
		}
		return items[0], nil
	}
	return items[len(items)-1], nil
}

// attrs reads a dotted attribute of each item; def, unless absent, replaces
// undefined.
func (rt *runtime) attrs(items []any, attr, def any) ([]any, error) {
	parts, err := pathParts(attr)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(items))
	for i, it := range items {
		if err := rt.work(1); err != nil {
			return nil, err
		}
		v, err := rt.path(it, parts)
		if err != nil {
			return nil, err
		}
		if isUndefined(v) {
			v = orValue(def, v)
		}
		out[i] = v
	}
	return out, nil
}

func batchFilter(rt *runtime, v any, a *Args) (any, error) {
	o, err := a.Bind("batch", "linecount", "fill_with?")
	if err != nil {
		return nil, err
	}
	n, err := orInt(o[0], 0)
	if err != nil {
		return nil, err
	}
	items, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, newErr(ValueError, "batch needs a positive line count")
	}
	var out []any
	for len(items) > 0 {
		row := append([]any{}, items[:min(n, len(items))]...)
		items = items[len(row):]
		if fill := orValue(o[1], nil); fill != nil && len(row) < n {
			if err := rt.work(n - len(row)); err != nil {
				return nil, err
			}
			for len(row) < n {
				row = append(row, fill)
			}
		}
		out = append(out, &List{row})
	}
	return &iterator{out}, nil
}

func sliceFilter(rt *runtime, v any, a *Args) (any, error) {
	o, err := a.Bind("slice", "slices", "fill_with?")
	if err != nil {
		return nil, err
	}
	n, err := orInt(o[0], 0)
	if err != nil {
		return nil, err
	}
	items, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, newErr(ValueError, "slice needs a positive number of slices")
	}
	if err := rt.work(n); err != nil {
		return nil, err
	}
	each, extra := len(items)/n, len(items)%n
	out := make([]any, n)
	for i := range n {
		size := each
		if i < extra {
			size++
		}
		row := append([]any{}, items[:size]...)
		items = items[size:]
		if fill := orValue(o[1], nil); fill != nil && i >= extra {
			row = append(row, fill)
		}
		out[i] = &List{row}
	}
	return &iterator{out}, nil
}
