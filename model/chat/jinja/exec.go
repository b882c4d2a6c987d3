package jinja

// exec executes a body; a signal other than next ends it early.
func (rt *runtime) exec(body []stmt, sc *scope, out *output) signal {
	rt.enter()
	outer, sig := rt.line, next
	for i := 0; i < len(body) && sig == next; i++ {
		rt.line = body[i].line
		rt.work(1)
		sig = body[i].exec(rt, sc, out)
	}
	rt.line = outer
	rt.depth--
	return sig
}

// capture renders a body into a string of its own.
func (rt *runtime) capture(body []stmt, sc *scope) (string, signal) {
	var out output
	sig := rt.exec(body, sc, &out)
	return out.b.String(), sig
}

func (s *textStmt) exec(rt *runtime, _ *scope, out *output) signal {
	out.write(rt, s.text)
	return next
}

func (s *outStmt) exec(rt *runtime, sc *scope, out *output) signal {
	out.write(rt, rt.str(rt.eval(s.x, sc)))
	return next
}

func (s *ifStmt) exec(rt *runtime, sc *scope, out *output) signal {
	for i, t := range s.tests {
		if truth(rt.eval(t, sc)) {
			return rt.exec(s.bodies[i], sc, out)
		}
	}
	return next
}

func (s *forStmt) exec(rt *runtime, sc *scope, out *output) signal {
	items := rt.iterate(rt.eval(s.iter, sc))
	if s.test != nil {
		items = s.filter(rt, sc, items)
	}
	lp := &loop{items: items}
	in := &scope{sc, make([]named, 0, 4)}
	for i, it := range items {
		rt.work(2)
		if s.captures {
			in = &scope{parent: sc}
		}
		in.vars = in.vars[:0]
		lp.i = i
		in.set("loop", lp)
		rt.assign(in, s.target, it)
		if rt.exec(s.body, in, out) == brk {
			break
		}
	}
	if len(items) == 0 {
		// An else branch has its own scope. Its break and continue are the outer loop's.
		return rt.exec(s.els, &scope{parent: sc}, out)
	}
	return next
}

// filter keeps the items for which the loop's condition holds.
func (s *forStmt) filter(rt *runtime, sc *scope, items []any) (kept []any) {
	for _, it := range items {
		rt.work(2)
		in := &scope{parent: sc}
		rt.assign(in, s.target, it)
		if truth(rt.eval(s.test, in)) {
			kept = append(kept, it)
		}
	}
	return kept
}

// loop is the loop variable.
type loop struct {
	items []any
	i     int // 0-based
}

var loopFields = map[string]func(*loop) any{
	"index":     func(l *loop) any { return int64(l.i + 1) },
	"index0":    func(l *loop) any { return int64(l.i) },
	"revindex":  func(l *loop) any { return int64(len(l.items) - l.i) },
	"revindex0": func(l *loop) any { return int64(len(l.items) - l.i - 1) },
	"first":     func(l *loop) any { return l.i == 0 },
	"last":      func(l *loop) any { return l.i == len(l.items)-1 },
	"length":    func(l *loop) any { return int64(len(l.items)) },
	"previtem":  func(l *loop) any { return l.item(l.i-1, "previous") },
	"nextitem":  func(l *loop) any { return l.item(l.i+1, "next") },
}

func (l *loop) item(i int, which string) any {
	if i < 0 || i >= len(l.items) {
		return &Undefined{hint: "there is no " + which + " item"}
	}
	return l.items[i]
}

func (rt *runtime) assign(sc *scope, t target, v any) {
	switch {
	case t.parts != nil:
		items := rt.iterate(v)
		switch n := len(t.parts); {
		case len(items) < n:
			panic(newErr(ValueError, "not enough values to unpack (expected %d, got %d)", n, len(items)))
		case len(items) > n:
			panic(newErr(ValueError, "too many values to unpack (expected %d)", n))
		}
		for i, p := range t.parts {
			rt.assign(sc, p, items[i])
		}
	case t.attr != "":
		ns, ok := rt.lookup(sc, t.name).(*Namespace)
		if !ok {
			panic(newErr(RuntimeError, "cannot assign attribute on non-namespace object"))
		}
		ns.fields.Set(t.attr, v)
	default:
		sc.set(t.name, v)
	}
}

func (s *setStmt) exec(rt *runtime, sc *scope, _ *output) signal {
	rt.assign(sc, s.target, rt.eval(s.x, sc))
	return next
}

func (s *captureStmt) exec(rt *runtime, sc *scope, out *output) signal {
	text, sig := rt.capture(s.body, &scope{parent: sc})
	if sig != next {
		return sig
	}
	var v any = text
	if s.filter != nil {
		v = rt.eval(s.filter, &scope{sc, []named{{bodyText.name, text}}})
	}
	if s.target == nil {
		out.write(rt, rt.str(v))
	} else {
		rt.assign(sc, *s.target, v)
	}
	return next
}

func (s *scopeStmt) exec(rt *runtime, sc *scope, out *output) signal {
	return rt.exec(s.body, &scope{parent: sc}, out)
}

func (s *signalStmt) exec(*runtime, *scope, *output) signal { return s.sig }
