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
		"dict":  {name: "dict", of: define("*", func(rt *runtime, _ any, a args) (any, error) { return rt.makeDict("dict", a.all) })},
		"namespace": {name: "namespace", of: define("*", func(rt *runtime, _ any, a args) (any, error) {
			d, err := rt.makeDict("namespace", a.all)
			return &Namespace{d}, err
		})},
	}
}

// rangeGlobal is range(). Its value is a list, which is as good for a loop.
func rangeGlobal(rt *runtime, _ any, a args) (any, error) {
	pos := a.all.Pos
	if len(a.all.Kw) > 0 || len(pos) == 0 || len(pos) > 3 {
		return nil, typeErr("range expected 1 to 3 positional arguments")
	}
	n := [3]int64{0, 0, 1}
	for i, v := range pos {
		switch x := v.(type) {
		case int64, bool:
			whole, _ := toInt64(x)
			n[i] = max(min(whole, 1<<60), -1<<60) // far outside maxRange, and safe from overflow
		case longInt:
			n[i] = x.sign() << 60
		case *Undefined:
			return nil, x.fail()
		default:
			return nil, typeErr("'%s' object cannot be interpreted as an integer", typeName(v))
		}
	}
	if len(pos) == 1 {
		n[0], n[1] = 0, n[0]
	}
	if n[2] == 0 {
		return nil, newErr(ValueError, "range() arg 3 must not be zero")
	}
	count := (n[1] - n[0] + n[2] - 1) / n[2]
	if n[2] < 0 {
		count = (n[0] - n[1] - n[2] - 1) / -n[2]
	}
	if count > maxRange {
		return nil, newErr(OverflowError, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	count = max(count, 0)
	if err := rt.work(int(count)); err != nil {
		return nil, err
	}
	items := make([]any, count)
	for i := range items {
		items[i] = n[0] + int64(i)*n[2]
	}
	return &List{items}, nil
}

// makeDict is dict(mapping or pairs, key=value…).
func (rt *runtime) makeDict(name string, a *arguments) (*Dict, error) {
	d := NewDict(len(a.Kw))
	if len(a.Pos) > 1 {
		return nil, typeErr("%s expected at most 1 argument, got %d", name, len(a.Pos))
	}
	if len(a.Pos) == 1 {
		if err := rt.putPairs(d, a.Pos[0]); err != nil {
			return nil, err
		}
	}
	for _, k := range a.Kw {
		if err := rt.put(d, k.Name, k.Value); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// putPairs puts what a dict, or a list of pairs, has.
func (rt *runtime) putPairs(d *Dict, pairs any) error {
	if from, ok := pairs.(*Dict); ok {
		pairs = &view{from, "items"}
	}
	items, err := rt.iterate(pairs)
	if err != nil {
		return err
	}
	for _, it := range items {
		kv, err := rt.iterate(it)
		if err != nil {
			return err
		}
		if len(kv) != 2 {
			return newErr(ValueError, "dictionary update sequence element has length %d; 2 is required", len(kv))
		}
		if err := rt.put(d, kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}
