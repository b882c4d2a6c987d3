package jinja

import "cmp"

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
		panic(newErr(LimitError, "the template takes more than %d operations", rt.lim.Steps))
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
