package jsonschema

import (
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// shape is a set of JSON values, apart by type: any of the cases of a type
// admits a value. It does not change once it was handed out.
type shape struct {
	null, false, true bool
	numbers           numbers
	texts             regex.Term
	arrays            []*arrayCase
	objects           []*objectCase
}

// maxCases bounds the cases of a type of one shape.
const maxCases = 2_048

// anyShape is every value.
func (c *compiler) anyShape() *shape {
	return &shape{
		null: true, false: true, true: true,
		numbers: c.numbers.full(),
		texts:   c.speller.free,
		arrays:  []*arrayCase{c.anyArray()},
		objects: []*objectCase{c.anyObject()},
	}
}

// noShape is no value.
func noShape() *shape { return &shape{} }

// intersect returns the values that are in both.
func (c *compiler) intersect(a, b *shape) *shape {
	c.work(1)
	out := &shape{
		null: a.null && b.null, false: a.false && b.false, true: a.true && b.true,
		numbers: c.numbers.and(a.numbers, b.numbers),
		texts:   c.speller.and(a.texts, b.texts),
	}
	out.arrays = c.meetArrays(a.arrays, b.arrays)
	out.objects = c.meetObjects(a.objects, b.objects)
	return out
}

func (c *compiler) meetArrays(a, b []*arrayCase) []*arrayCase {
	var out []*arrayCase
	for _, x := range a {
		for _, y := range b {
			c.work(1 + len(x.prefix) + len(y.prefix))
			if both := c.meetArray(x, y); both != nil {
				out = append(out, both)
			}
		}
	}
	if len(a) > 1 || len(b) > 1 {
		out = prune(out, c.emptyArray)
	}
	c.countCases(len(out), "arrays")
	return out
}

func (c *compiler) meetObjects(a, b []*objectCase) []*objectCase {
	var out []*objectCase
	for _, x := range a {
		for _, y := range b {
			c.work(1 + len(x.props) + len(y.props))
			out = append(out, c.meetObject(x, y)...)
			c.countCases(len(out), "objects")
		}
	}
	if len(a) > 1 || len(b) > 1 {
		out = prune(out, c.emptyObject)
	}
	if len(a) > 1 && len(b) > 1 {
		out = c.maximal(out)
	}
	return out
}

func (c *compiler) countCases(n int, of string) {
	if n > maxCases {
		c.refuseHere(c.keyword, "its alternatives for %s multiply to more than %d; use fewer, or anyOf in place of oneOf", of, maxCases)
	}
}

func prune[T any](list []T, empty func(T) bool) []T {
	out := list[:0]
	for _, x := range list {
		if !empty(x) {
			out = append(out, x)
		}
	}
	return out
}

// unite returns the values that are in one of them.
func (c *compiler) unite(a, b *shape) *shape {
	c.work(1)
	out := &shape{
		null: a.null || b.null, false: a.false || b.false, true: a.true || b.true,
		numbers: c.numbers.or(a.numbers, b.numbers),
		texts:   c.speller.or(a.texts, b.texts),
	}
	out.arrays = uniteCases(a.arrays, b.arrays, (*arrayCase).equal)
	out.objects = uniteCases(a.objects, b.objects, (*objectCase).equal)
	c.countCases(len(out.arrays), "arrays")
	c.countCases(len(out.objects), "objects")
	return out
}

// uniteCases leaves out cases that stand there twice.
func uniteCases[T any](a, b []T, equal func(T, T) bool) []T {
	out := append([]T(nil), a...)
next:
	for _, y := range b {
		for _, x := range a {
			if equal(x, y) {
				continue next
			}
		}
		out = append(out, y)
	}
	return out
}

// subtract returns the values of a that are not in b.
func (c *compiler) subtract(a, b *shape) *shape {
	c.work(1)
	out := &shape{
		null: a.null && !b.null, false: a.false && !b.false, true: a.true && !b.true,
		numbers: c.numbers.and(a.numbers, c.numbers.not(b.numbers)),
		texts:   c.speller.and(a.texts, c.speller.not(b.texts)),
	}
	for _, x := range a.arrays {
		left := []*arrayCase{x}
		for _, y := range b.arrays {
			if len(left) > 0 && len(prune(c.meetArrays(left, []*arrayCase{y}), c.emptyArray)) > 0 {
				left = c.meetArrays(left, c.complementArray(y))
			}
		}
		out.arrays = append(out.arrays, left...)
	}
	for _, x := range a.objects {
		left := []*objectCase{x}
		for _, y := range b.objects {
			if len(left) > 0 && len(prune(c.meetObjects(left, []*objectCase{y}), c.emptyObject)) > 0 {
				left = c.meetObjects(left, c.complementObject(y))
			}
		}
		out.objects = append(out.objects, left...)
	}
	c.countCases(len(out.arrays), "arrays")
	c.countCases(len(out.objects), "objects")
	return out
}
