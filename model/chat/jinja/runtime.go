package jinja

import (
	"cmp"
	"context"
	"strings"
)

// DefaultOutput is the default of Limits.OutputBytes.
const DefaultOutput = 16 << 20

// Limits bound one rendering. Zero fields take the default.
type Limits struct {
	// OutputBytes bounds the result and every value, hard, in bytes. Default 16 MiB.
	OutputBytes int
	// Steps bounds the work, hard: one per evaluated node, per element of a collection
	// touched, per 32 bytes of text made, per eight followed characters read. Default 20
	// million: two seconds at worst; 20 messages take about 4,000. Steps also bound
	// memory, to about 640 MB at worst, if a template keeps all values that it makes.
	Steps int64
	// Depth bounds calls, expressions and values inside each other, hard.
	// Default 1000 (about 150 nested macro calls).
	Depth int
}

func (l Limits) orDefault() Limits {
	l.OutputBytes = cmp.Or(max(l.OutputBytes, 0), DefaultOutput)
	l.Steps = cmp.Or(max(l.Steps, 0), 20_000_000)
	l.Depth = cmp.Or(max(l.Depth, 0), 1000)
	return l
}

// runtime is the state of one rendering. Not safe for concurrent use.
type runtime struct {
	ctx  context.Context
	lim  Limits
	vars map[string]any
	left int64 // steps
	// looked is the value of left at the last look at the context.
	looked int64
	// hits are eighths of a step that the next work charges: one for each
	// stand-in that was read. Where their number is not known before, they are
	// counted while a text is read.
	hits  int
	depth int
	line  int    // of the innermost statement
	marks *marks // nil when no character is followed
	// lastBare is bare(last): templates examine one text several times.
	last, lastBare string
	// valueBytes bounds a value, stand-ins included.
	valueBytes int
}

const ctxEvery = 1 << 12 // steps between looks at the context

// work charges n steps, and the hits since the last call.
func (rt *runtime) work(n int) {
	rt.left -= int64(n) + int64(rt.hits/8)
	rt.hits %= 8
	if rt.left < 0 || rt.looked-rt.left >= ctxEvery {
		rt.look()
	}
}

// look ends a rendering without steps or with a cancelled context.
func (rt *runtime) look() {
	if rt.left < 0 {
		panic(newErr(LimitError, "the template takes more than %d steps", rt.lim.Steps))
	}
	rt.looked = rt.left
	if rt.ctx.Err() != nil {
		panic(newErr(RuntimeError, "the rendering was cancelled"))
	}
}

// text charges for n bytes of text about to be made.
func (rt *runtime) text(n int) {
	if n > rt.valueBytes {
		failTooLong(n, rt.lim.OutputBytes)
	}
	rt.work(n / 32)
}

// enter counts one level of recursion; leave with rt.depth--.
func (rt *runtime) enter() {
	if rt.depth++; rt.depth > rt.lim.Depth {
		panic(newErr(LimitError, "macros, expressions or values are nested more than %d deep", rt.lim.Depth))
	}
}

func (rt *runtime) eval(x expr, sc *scope) any {
	rt.enter()
	rt.work(1)
	v := x.eval(rt, sc)
	rt.depth--
	return v
}

func (rt *runtime) evalAll(xs []expr, sc *scope) []any {
	vs := make([]any, len(xs))
	for i, x := range xs {
		vs[i] = rt.eval(x, sc)
	}
	return vs
}

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

// output collects rendered text.
type output struct {
	b strings.Builder
	n int // bytes, with each stand-in counted as its character
}

func (o *output) write(rt *runtime, s string) {
	rt.text(len(s))
	if o.n += rt.bareLen(s); o.n > rt.lim.OutputBytes {
		failTooLong(o.n, rt.lim.OutputBytes)
	}
	o.b.WriteString(s)
}

// scope is one level of variables. Scopes hold few names, so a scan beats a map.
type scope struct {
	parent *scope
	vars   []named
}

// named is a variable, or an argument that is given by name.
type named struct {
	name string
	v    any
}

// find returns where the scope has a variable, nil without it.
func (s *scope) find(name string) *any {
	for i := range s.vars {
		if s.vars[i].name == name {
			return &s.vars[i].v
		}
	}
	return nil
}

func (s *scope) set(name string, v any) {
	if at := s.find(name); at != nil {
		*at = v
	} else {
		s.vars = append(s.vars, named{name, v})
	}
}

// lookup finds a variable: scopes from the inside, then the render's
// variables, then the globals.
func (rt *runtime) lookup(sc *scope, name string) any {
	for ; sc != nil; sc = sc.parent {
		if at := sc.find(name); at != nil {
			return *at
		}
	}
	if v, ok := rt.vars[name]; ok {
		return v
	}
	if v, ok := globals[name]; ok {
		return v
	}
	for _, kind := range []string{"function", "variable"} {
		if isUnsupported(kind, name) {
			return &Undefined{kind: RuntimeError, hint: noSuch(kind, name)}
		}
	}
	return &Undefined{name: name}
}
