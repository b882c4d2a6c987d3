package jinja

import (
	"strconv"
	"strings"
)

// attr is v.name: a method first, then an element, else undefined.
func (rt *runtime) attr(v any, name string) (any, error) {
	switch x := v.(type) {
	case *Undefined:
		return nil, x.fail()
	case *Dict:
		if m := methodOf(v, name); m != nil {
			return &Function{name, m, v}, nil
		}
		if val, ok := x.get(name); ok && !mutates(v, name) {
			return val, nil
		}
	case *Namespace:
		if val, ok := x.fields.get(name); ok {
			return val, nil
		}
	case *loop:
		if val, ok := x.attr(name); ok {
			return val, nil
		}
	}
	if m := methodOf(v, name); m != nil {
		return &Function{name, m, v}, nil
	}
	if mutates(v, name) || strings.HasPrefix(name, "__") {
		return &Undefined{kind: SecurityError, hint: "access to attribute '" + name + "' of '" + typeName(v) + "' object is unsafe."}, nil
	}
	u := &Undefined{obj: v, of: true, name: name}
	if strings.Contains(unsupported["method"], " "+name+" ") {
		u.kind, u.hint = RuntimeError, noSuch("method", name)
	}
	return u, nil
}

// mutates names the methods that would change a value, which the sandbox forbids.
func mutates(v any, name string) bool {
	switch v.(type) {
	case *List:
		return strings.Contains(" append clear pop reverse insert sort extend remove ", " "+name+" ")
	case *Dict:
		return strings.Contains(" clear pop popitem setdefault update ", " "+name+" ")
	}
	return false
}

// item is v[key]: an element first, then, for a string key, an attribute.
func (rt *runtime) item(v, key any) (any, error) {
	if u, ok := v.(*Undefined); ok {
		return nil, u.fail()
	}
	if sl, ok := key.(*sliceKey); ok {
		return rt.slice(v, sl)
	}
	if d, ok := v.(*Dict); ok {
		if rt.hashable(key) == nil {
			if val, ok := d.get(rt.bareKey(key)); ok {
				return val, nil
			}
		}
	} else if n, ok := toInt64(key); ok {
		val, ok, err := rt.element(v, n)
		if err != nil || ok {
			return val, err
		}
	}
	if name, ok := key.(string); ok {
		return rt.attr(v, rt.bare(name))
	}
	return &Undefined{obj: v, of: true, name: key}, nil
}

// element is v[i] for a sequence; negative i counts from the end.
func (rt *runtime) element(v any, i int64) (any, bool, error) {
	n, ok, err := rt.length(v)
	if !ok || err != nil {
		return nil, false, err
	}
	if i < 0 {
		i += int64(n)
	}
	if i < 0 || i >= int64(n) {
		return nil, false, nil
	}
	switch x := v.(type) {
	case *List:
		return x.items[i], true, nil
	case *Tuple:
		return x.items[i], true, nil
	case string:
		if n == len(x) {
			return x[i : i+1], true, nil
		}
		if err := rt.work(len(x) / 8); err != nil {
			return nil, false, err
		}
		for _, r := range x {
			if i == 0 {
				return string(r), true, nil
			}
			i--
		}
	}
	return nil, false, nil
}

// sliceKey is the value of lo:hi:step inside []; absent parts are nil.
type sliceKey struct{ lo, hi, step any }

// bounds resolves a slice over n elements as Python does: count elements from
// start in steps of step.
func (k *sliceKey) bounds(n int) (start, step, count int, err error) {
	part := func(v any, def int) (int, error) {
		switch x := v.(type) {
		case nil:
			return def, nil
		case int64, bool:
			i, _ := toInt64(x)
			return int(max(min(i, 1<<40), -1<<40)), nil
		case longInt:
			return int(x.sign() << 40), nil
		case *Undefined:
			return 0, x.fail()
		}
		return 0, typeErr("slice indices must be integers or None or have an __index__ method")
	}
	if step, err = part(k.step, 1); err != nil {
		return
	}
	if step == 0 {
		return 0, 0, 0, newErr(ValueError, "slice step cannot be zero")
	}
	lo, hi := 0, n // where start and stop are clamped
	if step < 0 {
		lo, hi = -1, n-1
	}
	clamp := func(v any, def int) (int, error) {
		i, err := part(v, def)
		if v == nil || err != nil {
			return i, err
		}
		if i < 0 {
			i += n
		}
		return max(lo, min(i, hi)), nil
	}
	first, last := lo, hi
	if step < 0 {
		first, last = hi, lo
	}
	if start, err = clamp(k.lo, first); err != nil {
		return
	}
	stop, err := clamp(k.hi, last)
	if err != nil {
		return
	}
	if step > 0 {
		count = max(0, (stop-start+step-1)/step)
	} else {
		count = max(0, (start-stop-step-1)/-step)
	}
	return start, step, count, nil
}

func (rt *runtime) slice(v any, k *sliceKey) (any, error) {
	n, _, err := rt.length(v)
	if err != nil {
		return nil, err
	}
	start, step, count, err := k.bounds(n)
	if err != nil {
		return nil, err
	}
	pick := func(items []any) ([]any, error) {
		if err := rt.work(count); err != nil {
			return nil, err
		}
		if step == 1 {
			return items[start : start+count : start+count], nil
		}
		out := make([]any, count)
		for i := range out {
			out[i] = items[start+i*step]
		}
		return out, nil
	}
	switch x := v.(type) {
	case *List:
		items, err := pick(x.items)
		return &List{items}, err
	case *Tuple:
		items, err := pick(x.items)
		return &Tuple{items}, err
	case string:
		if step == 1 && count == n {
			return x, nil
		}
		if n == len(x) && step == 1 {
			return x[start : start+count], nil
		}
		if err := rt.work(len(x) / 8); err != nil {
			return nil, err
		}
		rs := []rune(x)
		out := make([]rune, count)
		for i := range out {
			out[i] = rs[start+i*step]
		}
		return string(out), nil
	}
	return &Undefined{obj: v, of: true, name: "slice"}, nil
}

// path reads a dotted attribute as filters take it: "a.b.0".
func (rt *runtime) path(v any, parts []any) (any, error) {
	for _, p := range parts {
		err := rt.work(1)
		if err == nil {
			v, err = rt.item(v, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// pathParts splits a filter's attribute argument.
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
