package jinja

import (
	"context"
	"strings"
)

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
