package jinja

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"
)

// marks follow characters of the client's text through a rendering, so that it
// can be told afterwards which of them the client wrote and which the template.
//
// Each marked character is replaced, in the client's values, by a stand-in: a
// noncharacter of Unicode (U+FDD0 to U+FDEF) that neither the values nor the
// template have. One character takes the place of one, so lengths, indices and
// slices stay what they are, whatever the template cuts out or joins. Wherever
// texts are compared or searched, stand-ins count as what they stand for. After
// the rendering the characters come back, and their places are known.
type marks struct {
	standIn map[rune]rune                        // by character
	char    [lastStandIn - firstStandIn + 1]rune // by stand-in; 0 for none
	first   [256]bool                            // bytes that begin a character, or a stand-in
}

const (
	firstStandIn = 0xFDD0
	lastStandIn  = 0xFDEF
	standInBytes = 3
	// standInStart are the first two bytes of every stand-in in UTF-8.
	standInStart = "\xef\xb7"
)

// Rendered is a result whose client's characters were followed.
type Rendered struct {
	Text string
	// Client are ranges [start, end) of bytes of Text, in order. Every marked
	// character in one is the client's, every one outside is the template's.
	// What lies between two marked characters may be anyone's.
	Client [][2]int
}

// RenderMarked is Render with further variables that come from the client:
// those of their characters that are in chars, in keys and values, are followed
// into the result. At most 32 characters can be followed.
func (t *Template) RenderMarked(ctx context.Context, lim Limits, vars, client map[string]any, chars []rune) (Rendered, error) {
	_, r, err := t.render(ctx, lim, vars, client, chars)
	return r, err
}

// render is RenderMarked that returns what it left of its limits.
func (t *Template) render(ctx context.Context, lim Limits, vars, client map[string]any, chars []rune) (*runtime, Rendered, error) {
	lim = lim.orDefault()
	rt := &runtime{ctx: ctx, lim: lim, name: t.name, vars: make(map[string]any, len(vars)+len(client)), left: lim.Steps, looked: lim.Steps, valueBytes: lim.OutputBytes}
	for _, from := range []map[string]any{vars, client} {
		for k, v := range from {
			c, err := FromGo(v)
			if err != nil {
				return rt, Rendered{}, locate(typeErr("variable %s: %v", k, err), t.name, 0)
			}
			rt.vars[k] = c
		}
	}
	if len(chars) > 0 {
		if err := rt.mark(client, chars, t.standIns); err != nil {
			return rt, Rendered{}, locate(err, t.name, 0)
		}
	}
	var out output
	if _, err := rt.exec(t.body, &scope{}, &out); err != nil {
		if ctx.Err() != nil {
			return rt, Rendered{}, context.Cause(ctx)
		}
		return rt, Rendered{}, rt.forReaders(locate(err, t.name, 0))
	}
	if rt.marks == nil {
		return rt, Rendered{Text: out.b.String()}, nil
	}
	return rt, rt.marks.settle(out.b.String()), nil
}

// standInsOf says which stand-ins s has, one bit each.
func standInsOf(s string) (set uint32) {
	for {
		i := strings.Index(s, standInStart)
		if i < 0 {
			return set
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= firstStandIn && r <= lastStandIn {
			set |= 1 << (r - firstStandIn)
		}
		s = s[i+n:]
	}
}

// mark replaces the characters in the client's variables.
func (rt *runtime) mark(client map[string]any, chars []rune, used uint32) error {
	scan := marker{rt: rt, each: func(s string) (string, error) {
		used |= standInsOf(s)
		return s, nil
	}}
	for k := range client {
		if _, err := scan.value(rt.vars[k]); err != nil {
			return err
		}
	}
	m := &marks{standIn: make(map[rune]rune, len(chars))}
	m.first[standInStart[0]] = true
	next := rune(firstStandIn)
	for _, c := range chars {
		for next <= lastStandIn && used&(1<<(next-firstStandIn)) != 0 {
			next++
		}
		if next > lastStandIn {
			return newErr(LimitError, "%d characters cannot be told apart from the template's: the texts have too many of U+FDD0 to U+FDEF, which are not characters; remove them", len(chars))
		}
		if _, twice := m.standIn[c]; twice {
			continue
		}
		m.standIn[c], m.char[next-firstStandIn] = next, c
		m.first[string(c)[0]] = true
		next++
	}
	rt.marks = m
	rt.valueBytes *= standInBytes // a stand-in may be three times as long as its character
	for k := range client {
		v, err := rt.markValue(rt.vars[k])
		if err != nil {
			return err
		}
		rt.vars[k] = v
	}
	return nil
}

// markValue replaces the characters in a value.
func (rt *runtime) markValue(v any) (any, error) {
	m := rt.marks
	put := marker{rt: rt, each: func(s string) (string, error) {
		var b strings.Builder
		done := 0
		for i := 0; i < len(s); {
			if !m.first[s[i]] {
				i++
				continue
			}
			r, n := utf8.DecodeRuneInString(s[i:])
			if to, is := m.standIn[r]; is {
				if done == 0 {
					b.Grow(len(s))
				}
				b.WriteString(s[done:i])
				b.WriteRune(to)
				done = i + n
			}
			i += n
		}
		if done == 0 {
			return s, nil
		}
		b.WriteString(s[done:])
		return b.String(), rt.work(b.Len() / 8) // what is kept to the end is dear
	}}
	return put.value(v)
}

// marker rewrites every text within a value. What does not change is shared
// with the original.
type marker struct {
	rt   *runtime
	each func(string) (string, error)
}

func (m *marker) value(v any) (any, error) {
	if err := m.rt.work(1); err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case string:
		if err := m.rt.text(len(x)); err != nil {
			return nil, err
		}
		return m.each(x)
	case *List:
		items, err := m.list(x.items)
		if err != nil || len(items) == 0 || &items[0] == &x.items[0] {
			return x, err
		}
		return &List{items}, nil
	case *Tuple:
		items, err := m.list(x.items)
		return &Tuple{items}, err
	case *Dict:
		return m.dict(x)
	}
	return v, nil
}

func (m *marker) list(items []any) ([]any, error) {
	out := items
	for i, it := range items {
		v, err := m.value(it)
		if err != nil {
			return nil, err
		}
		if !sameValue(v, it) {
			if &out[0] == &items[0] {
				out = slices.Clone(items)
			}
			out[i] = v
		}
	}
	return out, nil
}

func (m *marker) dict(d *Dict) (any, error) {
	keys, err := m.list(d.keys)
	if err != nil {
		return nil, err
	}
	vals, err := m.list(d.vals)
	if err != nil || len(keys) == 0 || &keys[0] == &d.keys[0] && &vals[0] == &d.vals[0] {
		return d, err
	}
	out := &Dict{keys: keys, vals: vals, index: d.index}
	if &keys[0] != &d.keys[0] && out.index == nil {
		// Keys are found by what the client wrote.
		out.index = make(map[any]int, len(keys))
		for i, k := range d.keys {
			out.index[hashKey(k)] = i
		}
	}
	return out, nil
}

// sameValue tells whether a rewritten value is the one before.
func sameValue(v, before any) bool {
	if s, ok := v.(string); ok {
		t, ok := before.(string)
		return ok && len(s) == len(t) && s == t
	}
	return v == before
}

// settle puts the characters back and says where they are.
func (m *marks) settle(s string) Rendered {
	var b strings.Builder
	var client [][2]int
	open := false // no marked character of the template since the last range
	done := 0
	for i := 0; i < len(s); {
		if !m.first[s[i]] {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		at := i
		i += n
		if r >= firstStandIn && r <= lastStandIn && m.char[r-firstStandIn] != 0 {
			b.WriteString(s[done:at])
			done = i
			start := b.Len()
			b.WriteRune(m.char[r-firstStandIn])
			if open {
				client[len(client)-1][1] = b.Len()
			} else {
				client = append(client, [2]int{start, b.Len()})
			}
			open = true
			continue
		}
		if _, is := m.standIn[r]; is {
			open = false
		}
	}
	b.WriteString(s[done:])
	return Rendered{b.String(), client}
}

// Rewriter is an error of a Function that may quote the client's text.
type Rewriter interface {
	error
	Rewrite(text func(string) string)
}

const maxQuote = 1 << 10 // bytes of an error's text

// forReaders is err with the characters in place of the stand-ins, and no
// longer than anybody reads.
func (rt *runtime) forReaders(err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	text := func(s string) string {
		if s = rt.bare(s); len(s) <= maxQuote {
			return s
		}
		end := maxQuote
		for !utf8.RuneStart(s[end]) {
			end--
		}
		return s[:end] + "…"
	}
	e.Msg = text(e.Msg)
	if b, ok := e.Err.(Rewriter); ok {
		b.Rewrite(text)
	}
	return err
}
