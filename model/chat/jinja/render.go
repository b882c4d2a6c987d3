package jinja

import (
	"context"
	"strings"
)

// RenderMarked runs the template. vars and client are its variables, read only: values
// of the package, or any value that FromGo takes. Those of client come from the client:
// those of their characters that are in chars, in keys and values, are followed into the
// result. At most 32 characters can be followed. The error is an *Error, or the
// context's. The context is looked at every few thousand steps.
func (t *Template) RenderMarked(ctx context.Context, lim Limits, vars, client map[string]any, chars []rune) (Rendered, error) {
	_, r, err := t.render(ctx, lim, vars, client, chars)
	return r, err
}

// render is RenderMarked that also returns the runtime, for its use of limits.
func (t *Template) render(ctx context.Context, lim Limits, vars, client map[string]any, chars []rune) (rt *runtime, r Rendered, err error) {
	lim = lim.orDefault()
	rt = &runtime{ctx: ctx, lim: lim, vars: make(map[string]any, len(vars)+len(client)), left: lim.Steps, looked: lim.Steps, valueBytes: lim.OutputBytes}
	defer func() {
		if e := recovered(recover()); e != nil {
			err = rt.forReaders(e.locate(t.name, rt.line))
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
		}
	}()
	for _, from := range []map[string]any{vars, client} {
		for k, v := range from {
			c, err := FromGo(v)
			if err != nil {
				panic(typeErr("variable %s: %v", k, err))
			}
			rt.vars[k] = c
		}
	}
	if len(chars) > 0 {
		rt.mark(client, chars, t.standIns)
	}
	var out output
	rt.exec(t.body, &scope{}, &out)
	if rt.marks == nil {
		return rt, Rendered{Text: out.b.String()}, nil
	}
	return rt, rt.marks.settle(out.b.String()), nil
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
