package jinja

import (
	"sort"
	"strings"
)

func sortFilters() map[string]filterFunc {
	return map[string]filterFunc{
		"sort": func(rt *runtime, v any, a *Args) (any, error) {
			o, err := a.Bind("sort", "reverse?", "case_sensitive?", "attribute?")
			if err != nil {
				return nil, err
			}
			items, err := rt.iterate(v)
			if err != nil {
				return nil, err
			}
			keys, err := rt.sortKeys(items, orValue(o[2], nil), orBool(o[1], false))
			if err != nil {
				return nil, err
			}
			items, err = rt.sortBy(items, keys, orBool(o[0], false))
			return &List{items}, err
		},
		"dictsort": dictSortFilter,
		"unique": func(rt *runtime, v any, a *Args) (any, error) {
			o, err := a.Bind("unique", "case_sensitive?", "attribute?")
			if err != nil {
				return nil, err
			}
			items, keys, err := rt.keyed(v, orValue(o[1], nil), orBool(o[0], false))
			if err != nil {
				return nil, err
			}
			seen := NewDict(0)
			var out []any
			for i, k := range keys {
				if err := rt.hashable(k); err != nil {
					return nil, err
				}
				k = rt.bareKey(k)
				if _, ok := seen.get(k); !ok {
					seen.put(k, nil)
					out = append(out, items[i])
				}
			}
			return &iterator{out}, nil
		},
		"min":     extremeFilter("min", "<"),
		"max":     extremeFilter("max", ">"),
		"groupby": groupByFilter,
	}
}

// keyed returns the items of v and what to compare them by.
func (rt *runtime) keyed(v, attr any, caseSensitive bool) (items, keys []any, err error) {
	if items, err = rt.iterate(v); err == nil {
		keys, err = rt.keysOf(items, attr, caseSensitive)
	}
	return items, keys, err
}

func (rt *runtime) keysOf(items []any, attr any, caseSensitive bool) ([]any, error) {
	if err := rt.work(len(items)); err != nil {
		return nil, err
	}
	keys := append([]any{}, items...)
	if attr != nil {
		var err error
		if keys, err = rt.attrs(items, attr, absent); err != nil {
			return nil, err
		}
	}
	for i, k := range keys {
		if s, ok := asStr(k); ok && !caseSensitive {
			if err := rt.text(len(s)); err != nil {
				return nil, err
			}
			keys[i] = strings.ToLower(rt.bare(s))
		}
	}
	return keys, nil
}

// sortKeys is keysOf for sort, whose attribute may be a list "a,b.c".
func (rt *runtime) sortKeys(items []any, attr any, caseSensitive bool) ([]any, error) {
	s, ok := asStr(attr)
	if !ok || !strings.ContainsRune(s, ',') {
		return rt.keysOf(items, attr, caseSensitive)
	}
	keys := make([]any, len(items))
	for i := range keys {
		keys[i] = &List{}
	}
	for part := range strings.SplitSeq(s, ",") {
		col, err := rt.keysOf(items, part, caseSensitive)
		if err != nil {
			return nil, err
		}
		for i, k := range col {
			l := keys[i].(*List)
			l.items = append(l.items, k)
		}
	}
	return keys, nil
}

// sortBy sorts stably by keys; reverse keeps the order of equals, as Python.
func (rt *runtime) sortBy(items, keys []any, reverse bool) ([]any, error) {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	var failed error
	sort.SliceStable(order, func(i, j int) bool {
		if failed != nil {
			return false
		}
		a, b := keys[order[i]], keys[order[j]]
		if reverse {
			a, b = b, a
		}
		if failed = rt.work(1); failed != nil {
			return false
		}
		c, ok, err := rt.order("<", a, b)
		failed = err
		return ok && c < 0
	})
	out := make([]any, len(items))
	for i, o := range order {
		out[i] = items[o]
	}
	return out, failed
}

func dictSortFilter(rt *runtime, v any, a *Args) (any, error) {
	o, err := a.Bind("dictsort", "case_sensitive?", "by?", "reverse?")
	if err != nil {
		return nil, err
	}
	d, ok := v.(*Dict)
	if !ok {
		if u, ok := v.(*Undefined); ok {
			return nil, u.fail()
		}
		return nil, newErr(UndefinedError, "'%s object' has no attribute 'items'", typeName(v))
	}
	by := d.keys
	switch b, _ := asStr(orValue(o[1], "key")); b {
	case "key":
	case "value":
		by = d.vals
	default:
		return nil, newErr(RuntimeError, `You can only sort by either "key" or "value"`)
	}
	keys, err := rt.keysOf(by, nil, orBool(o[0], false))
	if err != nil {
		return nil, err
	}
	items, err := rt.viewItems(&view{d, "items"})
	if err == nil {
		items, err = rt.sortBy(items, keys, orBool(o[2], false))
	}
	return &List{items}, err
}

// extremeFilter is min or max: the first of the extreme items.
func extremeFilter(name, op string) filterFunc {
	return func(rt *runtime, v any, a *Args) (any, error) {
		o, err := a.Bind(name, "case_sensitive?", "attribute?")
		if err != nil {
			return nil, err
		}
		items, keys, err := rt.keyed(v, orValue(o[1], nil), orBool(o[0], false))
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return &Undefined{hint: "No aggregated item, sequence was empty."}, nil
		}
		best := 0
		for i := range items {
			better, err := rt.compareOp(op, keys[i], keys[best])
			if err != nil {
				return nil, err
			}
			if i > 0 && better {
				best = i
			}
		}
		return items[best], nil
	}
}

func groupByFilter(rt *runtime, v any, a *Args) (any, error) {
	o, err := a.Bind("groupby", "attribute", "default?", "case_sensitive?")
	if err != nil {
		return nil, err
	}
	items, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	names, err := rt.attrs(items, o[0], o[1])
	if err != nil {
		return nil, err
	}
	keys, err := rt.keysOf(names, nil, orBool(o[2], false))
	if err != nil {
		return nil, err
	}
	rows := make([]any, len(items))
	for i := range rows {
		rows[i] = []any{keys[i], names[i], items[i]}
	}
	if rows, err = rt.sortBy(rows, keys, false); err != nil {
		return nil, err
	}
	var out []any
	var last any
	for i, r := range rows {
		row := r.([]any)
		eq := false
		if i > 0 {
			if eq, err = rt.equal(row[0], last); err != nil {
				return nil, err
			}
		}
		if !eq {
			out = append(out, &Tuple{items: []any{row[1], &List{}}, names: []string{"grouper", "list"}})
			last = row[0]
		}
		l := out[len(out)-1].(*Tuple).items[1].(*List)
		l.items = append(l.items, row[2])
	}
	return &List{out}, nil
}
