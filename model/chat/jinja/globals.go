package jinja

// globals are the functions every template has.
var globals map[string]any

// IsGlobal reports whether every template has a function of this name.
func IsGlobal(name string) bool { _, ok := globals[name]; return ok }

// maxRange is the sandbox's bound on range().
const maxRange = 100_000

func init() {
	globals = map[string]any{
		"range": &builtin{"range", rangeGlobal},
		"dict": &builtin{"dict", func(rt *runtime, a *Args) (any, error) {
			return rt.makeDict("dict", a)
		}},
		"namespace": &builtin{"namespace", func(rt *runtime, a *Args) (any, error) {
			d, err := rt.makeDict("namespace", a)
			return &Namespace{d}, err
		}},
		"cycler": &builtin{"cycler", func(_ *runtime, a *Args) (any, error) {
			if len(a.Pos) == 0 {
				return nil, typeErr("at least one item has to be provided")
			}
			return &cycler{items: a.Pos}, nil
		}},
		"joiner": &builtin{"joiner", func(_ *runtime, a *Args) (any, error) {
			v, err := a.Bind("joiner", "sep?")
			if err != nil {
				return nil, err
			}
			used := false
			return &builtin{"joiner", func(*runtime, *Args) (any, error) {
				if !used {
					used = true
					return "", nil
				}
				return orValue(v[0], ", "), nil
			}}, nil
		}},
	}
}

func rangeGlobal(rt *runtime, a *Args) (any, error) {
	if len(a.Kw) > 0 || len(a.Pos) == 0 || len(a.Pos) > 3 {
		return nil, typeErr("range expected 1 to 3 positional arguments")
	}
	n := [3]int64{0, 0, 1}
	for i, v := range a.Pos {
		switch x := v.(type) {
		case int64:
			// Far outside maxRange, and safe from overflow.
			n[i] = max(min(x, 1<<60), -1<<60)
		case bool:
			b, _ := toBig(x)
			n[i] = b.Int64()
		case *Undefined:
			return nil, x.fail()
		default:
			return nil, typeErr("'%s' object cannot be interpreted as an integer", typeName(v))
		}
	}
	if len(a.Pos) == 1 {
		n[0], n[1] = 0, n[0]
	}
	if n[2] == 0 {
		return nil, newErr(ValueError, "range() arg 3 must not be zero")
	}
	r := &rangeValue{n[0], n[1], n[2]}
	if r.len() > maxRange {
		return nil, newErr(OverflowError, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return r, nil
}

// makeDict is dict(mapping or pairs, key=value…).
func (rt *runtime) makeDict(name string, a *Args) (*Dict, error) {
	d := NewDict(len(a.Kw))
	if len(a.Pos) > 1 {
		return nil, typeErr("%s expected at most 1 argument, got %d", name, len(a.Pos))
	}
	if len(a.Pos) == 1 {
		if src, ok := a.Pos[0].(*Dict); ok {
			for i, k := range src.keys {
				if err := rt.put(d, k, src.vals[i]); err != nil {
					return nil, err
				}
			}
		} else if err := rt.putPairs(d, a.Pos[0]); err != nil {
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

func (rt *runtime) putPairs(d *Dict, pairs any) error {
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

// cycler goes round its items.
type cycler struct {
	items []any
	i     int
}

var cyclerMethods = map[string]method{
	"next": func(_ *runtime, recv any, a *Args) (any, error) {
		c := recv.(*cycler)
		v := c.items[c.i]
		c.i = (c.i + 1) % len(c.items)
		_, err := a.Bind("next")
		return v, err
	},
	"reset": func(_ *runtime, recv any, a *Args) (any, error) {
		recv.(*cycler).i = 0
		_, err := a.Bind("reset")
		return nil, err
	},
}
