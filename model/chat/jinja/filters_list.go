package jinja

import (
	"slices"
	"sort"
	"strings"
)

// end is the first or last element, undefined if there is none.
func (rt *runtime) end(v any, which string) (any, error) {
	it, isIterator := v.(*iterator)
	if isIterator && which == "last" {
		return nil, typeErr("'%s' object is not reversible", typeName(v))
	}
	items, err := rt.iterate(v)
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return &Undefined{hint: "No " + which + " item, sequence was empty."}, nil
	case which == "last":
		return items[len(items)-1], nil
	case isIterator:
		it.rest = items[1:]
	}
	return items[0], nil
}

func listFilter(rt *runtime, v any, _ args) (any, error) {
	items, err := rt.iterate(v)
	return &List{items}, err
}

func itemsFilter(rt *runtime, v any, _ args) (any, error) {
	if isUndefined(v) {
		return &iterator{}, nil
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, typeErr("Can only get item pairs from a mapping.")
	}
	items, err := rt.viewItems(&view{d, "items"})
	return &iterator{items}, err
}

func joinFilter(rt *runtime, v any, a args) (any, error) {
	sep, err := rt.str(a.value(0, ""))
	if err != nil {
		return nil, err
	}
	items, err := rt.iterate(v)
	if attr := a.value(1, nil); err == nil && attr != nil {
		items, err = rt.attrs(items, attr, absent)
	}
	if err != nil {
		return nil, err
	}
	return rt.join(items, sep)
}

func reverseFilter(rt *runtime, v any, _ args) (any, error) {
	if s, ok := v.(string); ok {
		return rt.slice(s, &sliceKey{step: int64(-1)})
	}
	items, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	return &iterator{items}, nil
}

// attrs reads a dotted attribute of each item; missing, unless absent, replaces
// what is undefined.
func (rt *runtime) attrs(items []any, attr, missing any) ([]any, error) {
	parts := pathParts(attr)
	out := make([]any, len(items))
	for i, it := range items {
		err := rt.work(1)
		if err == nil {
			out[i], err = rt.path(it, parts)
		}
		if err != nil {
			return nil, err
		}
		if isUndefined(out[i]) && missing != absent {
			out[i] = missing
		}
	}
	return out, nil
}

// mapParams are those of map(attribute='a', default=…).
var mapParams = define("attribute default?", nil).params

// mapFilter is map(attribute='a', default=…) or map('filter', args…).
func mapFilter(rt *runtime, v any, a args) (any, error) {
	items, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(a.all.Pos) == 0 {
		o, err := a.all.bind("map", mapParams)
		if err != nil {
			return nil, err
		}
		items, err = rt.attrs(items, o[0], o[1])
		return &iterator{items}, err
	}
	name, err := needStr(a.all.Pos[0])
	if err != nil {
		return nil, err
	}
	rest := &arguments{a.all.Pos[1:], a.all.Kw}
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

// pick is select and its variants. It keeps the items for which a test (or,
// without one, truth) gives keep. byAttr: the first argument names what of an
// item is tested.
func pick(byAttr, keep bool) func(*runtime, any, args) (any, error) {
	return func(rt *runtime, v any, a args) (any, error) {
		items, err := rt.iterate(v)
		if err != nil {
			if v == nil {
				return &iterator{}, nil // as in Python
			}
			return nil, err
		}
		subjects, rest := items, a.all.Pos
		if byAttr {
			if len(rest) == 0 {
				return nil, newErr(RuntimeError, "Missing parameter for attribute name")
			}
			if subjects, err = rt.attrs(items, rest[0], absent); err != nil {
				return nil, err
			}
			rest = rest[1:]
		}
		var out []any
		for i, s := range subjects {
			ok, err := rt.passes(s, rest, a.all.Kw)
			if err != nil {
				return nil, err
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

// passes applies a test, given by its name and arguments, or truth.
func (rt *runtime) passes(v any, test []any, kw []keyword) (bool, error) {
	if len(test) == 0 {
		return truth(v), nil
	}
	name, err := needStr(test[0])
	if err != nil {
		return false, err
	}
	return rt.test(name, v, &arguments{test[1:], kw})
}

// keysOf is what items are sorted and compared by.
func (rt *runtime) keysOf(items []any, attr any, caseSensitive bool) ([]any, error) {
	if err := rt.work(len(items)); err != nil {
		return nil, err
	}
	keys := slices.Clone(items)
	if attr != nil {
		var err error
		if keys, err = rt.attrs(items, attr, absent); err != nil {
			return nil, err
		}
	}
	for i, k := range keys {
		if s, ok := k.(string); ok && !caseSensitive {
			if err := rt.text(len(s)); err != nil {
				return nil, err
			}
			keys[i] = strings.ToLower(rt.bare(s))
		}
	}
	return keys, nil
}

func sortFilter(rt *runtime, v any, a args) (any, error) {
	items, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	attr := a.value(2, nil)
	if s, ok := attr.(string); ok && strings.Contains(s, ",") {
		return nil, newErr(RuntimeError, "sort by several attributes is not supported in chat templates")
	}
	keys, err := rt.keysOf(items, attr, a.bool(1))
	if err != nil {
		return nil, err
	}
	items, err = rt.sortBy(items, keys, a.bool(0))
	return &List{items}, err
}

// sortBy sorts stably by keys; reverse keeps the order of equals, as in Python.
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

func dictSortFilter(rt *runtime, v any, a args) (any, error) {
	d, ok := v.(*Dict)
	if !ok {
		if u, ok := v.(*Undefined); ok {
			return nil, u.fail()
		}
		return nil, newErr(UndefinedError, "'%s object' has no attribute 'items'", typeName(v))
	}
	by := d.keys
	switch a.value(1, "key") {
	case "key":
	case "value":
		by = d.vals
	default:
		return nil, newErr(RuntimeError, `You can only sort by either "key" or "value"`)
	}
	keys, err := rt.keysOf(by, nil, a.bool(0))
	if err != nil {
		return nil, err
	}
	items, err := rt.viewItems(&view{d, "items"})
	if err == nil {
		items, err = rt.sortBy(items, keys, a.bool(2))
	}
	return &List{items}, err
}

func uniqueFilter(rt *runtime, v any, a args) (any, error) {
	items, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	keys, err := rt.keysOf(items, a.value(1, nil), a.bool(0))
	if err != nil {
		return nil, err
	}
	seen := NewDict(0)
	var out []any
	for i, k := range keys {
		n := seen.Len()
		if err := rt.put(seen, k, nil); err != nil {
			return nil, err
		}
		if seen.Len() > n {
			out = append(out, items[i])
		}
	}
	return &iterator{out}, nil
}
