package jinja

import (
	"slices"
	"strconv"
	"strings"
)

func firstFilter(rt *runtime, v any, _ args) any {
	items := rt.iterate(v)
	if len(items) == 0 {
		return &Undefined{hint: "No first item, sequence was empty."}
	}
	if it, ok := v.(*iterator); ok {
		it.rest = items[1:]
	}
	return items[0]
}

func lastFilter(rt *runtime, v any, _ args) any {
	if is[*iterator](v) {
		panic(typeErr("'%s' object is not reversible", typeName(v)))
	}
	items := rt.iterate(v)
	if len(items) == 0 {
		return &Undefined{hint: "No last item, sequence was empty."}
	}
	return items[len(items)-1]
}

func itemsFilter(rt *runtime, v any, _ args) any {
	if isUndefined(v) {
		return &iterator{}
	}
	d, ok := v.(*Dict)
	if !ok {
		panic(typeErr("Can only get item pairs from a mapping."))
	}
	return &iterator{rt.pairs(d)}
}

func joinFilter(rt *runtime, v any, a args) any {
	sep := rt.str(a.value(0, ""))
	items := rt.iterate(v)
	if attr := a.value(1, nil); attr != nil {
		items = rt.attrs(items, attr, absent)
	}
	return rt.join(items, sep)
}

func reverseFilter(rt *runtime, v any, _ args) any {
	if s, ok := v.(string); ok {
		return rt.slice(s, &sliceKey{step: int64(-1)})
	}
	items := slices.Clone(rt.iterate(v))
	slices.Reverse(items)
	return &iterator{items}
}

// attrs reads a dotted attribute of each item; missing, if given, replaces undefined.
func (rt *runtime) attrs(items []any, attr, missing any) []any {
	parts := pathParts(attr)
	return rt.mapped(items, func(it any) any {
		for _, p := range parts {
			rt.work(1)
			it = rt.item(it, p)
		}
		if isUndefined(it) && missing != absent {
			return missing
		}
		return it
	})
}

// pathParts splits the attribute argument of a filter: a key, or a path such as "a.b.0".
func pathParts(attr any) []any {
	s, ok := attr.(string)
	if !ok {
		return []any{attr}
	}
	var parts []any
	for part := range strings.SplitSeq(s, ".") {
		if n, err := strconv.ParseUint(part, 10, 31); err == nil {
			parts = append(parts, int64(n))
		} else {
			parts = append(parts, part)
		}
	}
	return parts
}

func (rt *runtime) mapped(items []any, f func(it any) any) []any {
	out := make([]any, len(items))
	for i, it := range items {
		rt.work(1)
		out[i] = f(it)
	}
	return out
}

var mapAttribute = define("attribute default?", nil)

// mapFilter is map(attribute='a', default=…) or map('filter', args…).
func mapFilter(rt *runtime, v any, a args) any {
	items := rt.iterate(v)
	if len(a.pos) == 0 {
		a = mapAttribute.bind("map", a)
		return &iterator{rt.attrs(items, a.pos[0], a.pos[1])}
	}
	name := a.str(0)
	a.pos = a.pos[1:]
	return &iterator{rt.mapped(items, func(it any) any { return rt.builtin("filter", name, it, a) })}
}

// pick is select and its variants. It keeps the items for which a test (or
// truth, without a test) returns keep. byAttr: the first argument names the
// attribute of an item that is tested.
func pick(byAttr, keep bool) builtinFunc {
	return func(rt *runtime, v any, a args) any {
		if v == nil {
			return &iterator{} // as in Python
		}
		items := rt.iterate(v)
		subjects := items
		if byAttr {
			if len(a.pos) == 0 {
				panic(newErr(RuntimeError, "Missing parameter for attribute name"))
			}
			subjects = rt.attrs(items, a.pos[0], absent)
			a.pos = a.pos[1:]
		}
		passes := truth
		if len(a.pos) > 0 {
			test := args{a.pos[1:], a.kw}
			passes = func(v any) bool { return rt.builtin("test", a.str(0), v, test).(bool) }
		}
		var out []any
		for i, s := range subjects {
			if passes(s) == keep {
				out = append(out, items[i])
			}
			rt.work(1)
		}
		return &iterator{out}
	}
}

// keysOf returns the values by which items are sorted and compared.
func (rt *runtime) keysOf(items []any, attr any, caseSensitive bool) []any {
	rt.work(len(items))
	keys := slices.Clone(items)
	if attr != nil {
		keys = rt.attrs(items, attr, absent)
	}
	for i, k := range keys {
		if s, ok := k.(string); ok && !caseSensitive {
			rt.text(len(s))
			keys[i] = strings.ToLower(rt.bare(s))
		}
	}
	return keys
}

func sortFilter(rt *runtime, v any, a args) any {
	items, attr := rt.iterate(v), a.value(2, nil)
	if s, ok := attr.(string); ok && strings.Contains(s, ",") {
		panic(newErr(RuntimeError, "sort by several attributes is not supported in chat templates"))
	}
	return rt.sortBy(items, rt.keysOf(items, attr, a.bool(1)), a.bool(0))
}

// sortBy makes a sorted list. It is stable, also in reverse, as in Python.
func (rt *runtime) sortBy(items, keys []any, reverse bool) *List {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if reverse {
			i, j = j, i
		}
		rt.work(1)
		c, ok := rt.order("<", keys[i], keys[j])
		if !ok {
			return 0
		}
		return c
	})
	out := make([]any, len(items))
	for i, o := range order {
		out[i] = items[o]
	}
	return newList(out)
}

func dictSortFilter(rt *runtime, v any, a args) any {
	d, ok := needDefined(v).(*Dict)
	if !ok {
		panic(newErr(UndefinedError, "'%s object' has no attribute 'items'", typeName(v)))
	}
	by := d.keys
	switch a.value(1, "key") {
	case "key":
	case "value":
		by = d.vals
	default:
		panic(newErr(RuntimeError, `You can only sort by either "key" or "value"`))
	}
	keys := rt.keysOf(by, nil, a.bool(0))
	return rt.sortBy(rt.pairs(d), keys, a.bool(2))
}

func uniqueFilter(rt *runtime, v any, a args) any {
	items := rt.iterate(v)
	seen := NewDict(0)
	var out []any
	for i, k := range rt.keysOf(items, a.value(1, nil), a.bool(0)) {
		n := seen.Len()
		rt.put(seen, k, nil)
		if seen.Len() > n {
			out = append(out, items[i])
		}
	}
	return &iterator{out}
}
