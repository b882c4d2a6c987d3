package jinja

import "strings"

// attr is v.name: a method first, then an element, else undefined.
func (rt *runtime) attr(v any, name string) any {
	if m := methodOf(v, name); m != nil {
		return &Function{name, m, v}
	}
	switch x := needDefined(v).(type) {
	case *Dict:
		if val, ok := x.get(name); ok && !mutates(v, name) {
			return val
		}
	case *Namespace:
		if val, ok := x.fields.get(name); ok {
			return val
		}
	case *loop:
		if field, ok := loopFields[name]; ok {
			return field(x)
		}
		if isUnsupported("loop", name) {
			return &Undefined{kind: RuntimeError, hint: "loop." + name + " is not supported in chat templates"}
		}
	}
	if mutates(v, name) || strings.HasPrefix(name, "__") {
		return &Undefined{kind: SecurityError, hint: "access to attribute '" + name + "' of '" + typeName(v) + "' object is unsafe."}
	}
	u := &Undefined{obj: v, of: true, name: name}
	if isUnsupported("method", name) {
		u.kind, u.hint = RuntimeError, noSuch("method", name)
	}
	return u
}

// mutates reports whether a method would change the value, which the sandbox forbids.
func mutates(v any, name string) bool {
	switch x := v.(type) {
	case *List:
		return !x.tuple && strings.Contains(" append clear pop reverse insert sort extend remove ", " "+name+" ")
	case *Dict:
		return strings.Contains(" clear pop popitem setdefault update ", " "+name+" ")
	}
	return false
}

// item is v[key]: an element first, then, for a string key, an attribute.
func (rt *runtime) item(v, key any) any {
	needDefined(v)
	if sl, ok := key.(*sliceKey); ok {
		return rt.slice(v, sl)
	}
	if d, ok := v.(*Dict); ok {
		if unhashable(key) == nil {
			if val, ok := rt.get(d, key); ok {
				return val
			}
		}
	} else if n, ok := toInt64(key); ok {
		if val, ok := rt.element(v, n); ok {
			return val
		}
	}
	if name, ok := key.(string); ok {
		return rt.attr(v, rt.bare(name))
	}
	return &Undefined{obj: v, of: true, name: key}
}

// element is v[i] for a sequence; negative i counts from the end.
func (rt *runtime) element(v any, i int64) (any, bool) {
	n, ok := rt.length(v)
	if i < 0 {
		i += int64(n)
	}
	if !ok || i < 0 || i >= int64(n) {
		return nil, false
	}
	if l, ok := v.(*List); ok {
		return l.items[i], true
	}
	s, ok := v.(string)
	if !ok {
		return nil, false
	}
	if n == len(s) {
		return s[i : i+1], true
	}
	rt.work(len(s) / 8)
	for _, r := range s {
		if i == 0 {
			return string(r), true
		}
		i--
	}
	return nil, false
}

// sliceKey is the value of lo:hi:step inside []; absent parts are nil.
type sliceKey struct{ lo, hi, step any }

// bounds resolves a slice of n elements as Python does: count from start in steps of
// step.
func (k *sliceKey) bounds(n int) (start, step, count int) {
	part := func(v any, missing int) int {
		if v == nil {
			return missing
		}
		if !isCount(needDefined(v)) {
			panic(typeErr("slice indices must be integers or None or have an __index__ method"))
		}
		return clampInt(v)
	}
	if step = part(k.step, 1); step == 0 {
		panic(newErr(ValueError, "slice step cannot be zero"))
	}
	first, last := 0, n // start and stop are clamped to these
	if step < 0 {
		first, last = n-1, -1
	}
	clamp := func(v any, missing int) int {
		i := part(v, missing)
		if v != nil && i < 0 {
			i += n
		}
		return max(min(first, last), min(i, max(first, last)))
	}
	start = clamp(k.lo, first)
	return start, step, countSteps(start, clamp(k.hi, last), step)
}

// countSteps is the length of Python's range(start, stop, step).
func countSteps(start, stop, step int) int {
	if step < 0 {
		start, stop, step = stop, start, -step
	}
	return max(0, (stop-start+step-1)/step)
}

func (rt *runtime) slice(v any, k *sliceKey) any {
	n, _ := rt.length(v)
	start, step, count := k.bounds(n)
	if l, ok := v.(*List); ok {
		rt.work(count)
		if step == 1 {
			return l.with(l.items[start : start+count : start+count])
		}
		return l.with(every(l.items, start, step, count))
	}
	s, ok := v.(string)
	switch {
	case !ok:
		return &Undefined{obj: v, of: true, name: "slice"}
	case step == 1 && count == n:
		return s
	case step == 1 && n == len(s):
		return s[start : start+count]
	}
	rt.work(len(s) / 8)
	return string(every([]rune(s), start, step, count))
}

// every returns count elements from start in steps of step.
func every[T any](items []T, start, step, count int) []T {
	out := make([]T, count)
	for i := range out {
		out[i] = items[start+i*step]
	}
	return out
}
