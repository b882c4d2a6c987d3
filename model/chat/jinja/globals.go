package jinja

// globals are the functions every template has.
var globals map[string]*Function

// IsGlobal reports whether every template has a function of this name.
func IsGlobal(name string) bool { _, ok := globals[name]; return ok }

// maxRange is the sandbox's bound on range().
const maxRange = 100_000

func init() {
	globals = map[string]*Function{
		"range": {name: "range", of: define("*", rangeGlobal)},
		"dict":  {name: "dict", of: define("*", func(rt *runtime, _ any, a args) any { return rt.makeDict("dict", a) })},
		"namespace": {name: "namespace", of: define("*", func(rt *runtime, _ any, a args) any {
			return &Namespace{rt.makeDict("namespace", a)}
		})},
	}
}

// rangeGlobal is range(). It returns a list, which serves loops as well.
func rangeGlobal(rt *runtime, _ any, a args) any {
	if len(a.kw) > 0 || len(a.pos) == 0 || len(a.pos) > 3 {
		panic(typeErr("range expected 1 to 3 positional arguments"))
	}
	n := [3]int{0, 0, 1}
	for i, v := range a.pos {
		n[i] = clampInt(v)
	}
	start, stop, step := n[0], n[1], n[2]
	if len(a.pos) == 1 {
		start, stop = 0, start
	}
	if step == 0 {
		panic(newErr(ValueError, "range() arg 3 must not be zero"))
	}
	count := countSteps(start, stop, step)
	if count > maxRange {
		panic(newErr(OverflowError, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange))
	}
	rt.work(count)
	items := make([]any, count)
	for i := range items {
		items[i] = int64(start + i*step)
	}
	return newList(items)
}

// makeDict is dict(mapping or pairs, key=value…).
func (rt *runtime) makeDict(name string, a args) *Dict {
	d := NewDict(len(a.kw))
	if len(a.pos) > 1 {
		panic(typeErr("%s expected at most 1 argument, got %d", name, len(a.pos)))
	}
	if len(a.pos) == 1 {
		rt.putPairs(d, a.pos[0])
	}
	for _, k := range a.kw {
		rt.put(d, k.name, k.v)
	}
	return d
}

// putPairs puts the members of a dict, or of a list of pairs, into d.
func (rt *runtime) putPairs(d *Dict, pairs any) {
	if from, ok := pairs.(*Dict); ok {
		pairs = newList(rt.pairs(from))
	}
	for _, it := range rt.iterate(pairs) {
		kv := rt.iterate(it)
		if len(kv) != 2 {
			panic(newErr(ValueError, "dictionary update sequence element has length %d; 2 is required", len(kv)))
		}
		rt.put(d, kv[0], kv[1])
	}
}
