package jsonschema

import "slices"

// unbounded is a maximum that there is not.
const unbounded = -1

// tooMany is a count that no output reaches, as it takes a token for each item
// or character at least. A maximum from there on is none.
const tooMany = 1 << 20

// arrayCase is a set of arrays.
type arrayCase struct {
	prefix   []expr // of the first items
	rest     expr   // of each further item
	min, max int
	has      []has
	unique   *value // of the keyword, nil: items may be equal

	// What keywords have looked at, for unevaluatedItems: the first seen items,
	// or all, and those that are in seenIf.
	seen    int
	seenAll bool
	seenIf  []expr
}

// has asks that among the items from one on, the number of those in value is
// in [min, max].
type has struct {
	from     int
	value    expr
	min, max int
}

func (c *compiler) anyArray() *arrayCase { return &arrayCase{rest: everything, max: unbounded} }

// item returns the set that the i-th item must be in.
func (a *arrayCase) item(i int) expr {
	if i < len(a.prefix) {
		return a.prefix[i]
	}
	return a.rest
}

func (a *arrayCase) equal(b *arrayCase) bool {
	return a == b || slices.Equal(a.prefix, b.prefix) && a.rest == b.rest && a.min == b.min && a.max == b.max &&
		slices.Equal(a.has, b.has) && (a.unique != nil) == (b.unique != nil) &&
		a.seen == b.seen && a.seenAll == b.seenAll && slices.Equal(a.seenIf, b.seenIf)
}

func lesserMax(a, b int) int {
	if a == unbounded || b != unbounded && b < a {
		return b
	}
	return a
}

// tidy brings a into the form in which bounds are as tight as its items say.
// It returns nil when no array is left.
func (a *arrayCase) tidy() *arrayCase {
	if a.max >= tooMany {
		a.max = unbounded
	}
	for i, x := range a.prefix {
		if x == nothing {
			a.prefix, a.rest = a.prefix[:i], nothing
			break
		}
	}
	if a.rest == nothing {
		a.max = lesserMax(a.max, len(a.prefix))
	}
	if a.max != unbounded && a.min > a.max {
		return nil
	}
	if a.max != unbounded && a.max <= len(a.prefix) {
		a.prefix, a.rest = a.prefix[:a.max:a.max], nothing
	}
	return a
}

// meetArray returns the arrays that are in both, nil if there is none.
func (c *compiler) meetArray(a, b *arrayCase) *arrayCase {
	out := &arrayCase{
		rest: c.and(a.rest, b.rest), min: max(a.min, b.min), max: lesserMax(a.max, b.max), unique: a.unique,
		seen: max(a.seen, b.seen), seenAll: a.seenAll || b.seenAll,
	}
	for i := range max(len(a.prefix), len(b.prefix)) {
		out.prefix = append(out.prefix, c.and(a.item(i), b.item(i)))
	}
	out.has = append(append(out.has, a.has...), b.has...)
	out.seenIf = append(append(out.seenIf, a.seenIf...), b.seenIf...)
	if out.unique == nil {
		out.unique = b.unique
	}
	return out.tidy()
}

// complementArray returns the arrays that are not in a.
func (c *compiler) complementArray(a *arrayCase) []*arrayCase {
	if a.unique != nil && (a.max == unbounded || a.max > 1) {
		c.refuse(a.unique, "uniqueItems", "it cannot be negated, here or by the oneOf or if that it is in")
	}
	var out []*arrayCase
	add := func(change func(*arrayCase)) {
		x := c.anyArray()
		change(x)
		if x = x.tidy(); x != nil {
			out = append(out, x)
		}
	}
	if a.min > 0 {
		add(func(x *arrayCase) { x.max = a.min - 1 })
	}
	if a.max != unbounded {
		add(func(x *arrayCase) { x.min = a.max + 1 })
	}
	for i, e := range a.prefix {
		if e != everything {
			add(func(x *arrayCase) {
				x.prefix = append(slices.Repeat([]expr{everything}, i), c.not(e))
				x.min = i + 1
			})
		}
	}
	if a.rest != everything && a.rest != nothing {
		add(func(x *arrayCase) { x.has = []has{{len(a.prefix), c.not(a.rest), 1, unbounded}} })
	}
	for _, h := range a.has {
		if h.min > 0 {
			add(func(x *arrayCase) { x.has = []has{{h.from, h.value, 0, h.min - 1}} })
		}
		if h.max != unbounded {
			add(func(x *arrayCase) { x.has = []has{{h.from, h.value, h.max + 1, unbounded}} })
		}
	}
	return out
}

// unevaluatedItems asks that the items that no keyword looked at are in value.
func (c *compiler) unevaluatedItems(a *arrayCase, value expr) *arrayCase {
	out := *a
	out.seenAll = true
	if a.seenAll {
		return &out
	}
	value = c.or(append([]expr{value}, a.seenIf...)...)
	out.prefix = nil
	for i := range max(len(a.prefix), a.seen) {
		x := a.item(i)
		if i >= a.seen {
			x = c.and(x, value)
		}
		out.prefix = append(out.prefix, x)
	}
	out.rest = c.and(a.rest, value)
	return out.tidy()
}
