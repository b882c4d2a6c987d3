package jsonschema

import (
	"slices"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// objectCase is a set of objects.
type objectCase struct {
	props    []prop
	index    map[string]int
	classes  []class // of the other names; a name that is in none must not stand there
	some     []some
	min, max int
	ordered  bool // props come in their order; all that have a value are required, and there is no class
}

// prop is what holds for one name.
type prop struct {
	name     string
	value    expr
	required bool
	seen     bool // for unevaluatedProperties
}

// class is what holds for names that are no props. Classes share no name.
type class struct {
	keys  regex.Term
	value expr
	seen  bool
}

// some asks for a property that is no prop, with one of these names and a value in value.
type some struct {
	keys  regex.Term
	value expr
}

func (c *compiler) anyObject() *objectCase {
	return &objectCase{classes: []class{{keys: c.speller.free, value: everything}}, max: unbounded}
}

func (o *objectCase) equal(b *objectCase) bool {
	return o == b || slices.Equal(o.props, b.props) && slices.Equal(o.classes, b.classes) && slices.Equal(o.some, b.some) && o.min == b.min && o.max == b.max && o.ordered == b.ordered
}

// put adds a prop, or replaces the one of its name.
func (o *objectCase) put(p prop) {
	if i := o.find(p.name); i >= 0 {
		o.props[i] = p
		return
	}
	if o.index == nil {
		o.index = map[string]int{}
	}
	o.index[p.name] = len(o.props)
	o.props = append(o.props, p)
}

// find returns the index of a prop, -1 where the name has none.
func (o *objectCase) find(name string) int {
	if i, ok := o.index[name]; ok {
		return i
	}
	return -1
}

// at returns what holds for a name.
func (c *compiler) at(o *objectCase, name string) prop {
	if i := o.find(name); i >= 0 {
		return o.props[i]
	}
	for _, k := range o.classes {
		if k.keys == c.speller.free || c.speller.has(k.keys, name) {
			return prop{name: name, value: k.value, seen: k.seen}
		}
	}
	return prop{name: name, value: nothing}
}

// meetObject returns the objects that are in both.
func (c *compiler) meetObject(a, b *objectCase) []*objectCase {
	out := &objectCase{min: max(a.min, b.min), max: lesserMax(a.max, b.max), ordered: a.ordered || b.ordered}
	for _, o := range []*objectCase{a, b} {
		for _, p := range o.props {
			if out.find(p.name) >= 0 {
				continue
			}
			x, y := c.at(a, p.name), c.at(b, p.name)
			both := prop{p.name, c.and(x.value, y.value), x.required || y.required, x.seen || y.seen}
			if both.required && both.value == nothing {
				return nil
			}
			out.put(both)
		}
	}
	for _, x := range a.classes {
		for _, y := range b.classes {
			keys := c.speller.and(x.keys, y.keys)
			value := c.and(x.value, y.value)
			if value != nothing && !c.emptyTerm(keys) {
				out.classes = append(out.classes, class{keys, value, x.seen || y.seen})
			}
		}
	}
	if !out.tidy() {
		return nil
	}
	list := []*objectCase{out}
	for i, o := range []*objectCase{a, b} {
		other := []*objectCase{b, a}[i]
		for _, s := range o.some {
			list = c.demand(list, s, o, other)
		}
	}
	return list
}

// tidy tightens the bounds of o. It reports whether an object may be left.
func (o *objectCase) tidy() bool {
	if o.max >= tooMany {
		o.max = unbounded
	}
	if len(o.classes) == 0 {
		possible := 0
		for _, p := range o.props {
			if p.value != nothing {
				possible++
			}
		}
		o.max = lesserMax(o.max, possible)
	}
	least := 0
	for _, p := range o.props {
		if p.required {
			least++
		}
	}
	o.min = max(o.min, least)
	return o.max == unbounded || o.min <= o.max
}

// demand adds s, which was asked of the names that are no props of from. Props
// that the other side brought in may fulfil it, each in a case of its own.
func (c *compiler) demand(list []*objectCase, s some, from, other *objectCase) []*objectCase {
	var out []*objectCase
	for _, o := range list {
		c.work(1 + len(other.props))
		for _, p := range other.props {
			if from.find(p.name) >= 0 || !(s.keys == c.speller.free || c.speller.has(s.keys, p.name)) {
				continue
			}
			with := o.clone()
			q := with.props[with.find(p.name)]
			q.value, q.required = c.and(q.value, s.value), true
			if with.put(q); q.value != nothing && with.tidy() {
				out = append(out, with)
			}
		}
		if len(o.classes) > 0 {
			with := o.clone()
			with.some = append(with.some, s)
			out = append(out, with)
		}
		c.countCases(len(out), "objects")
	}
	return out
}

func (o *objectCase) clone() *objectCase {
	out := *o
	out.props, out.some, out.classes = slices.Clone(o.props), slices.Clone(o.some), slices.Clone(o.classes)
	out.index = make(map[string]int, len(o.props))
	for i, p := range o.props {
		out.index[p.name] = i
	}
	return &out
}

// complementObject returns the objects that are not in o.
func (c *compiler) complementObject(o *objectCase) []*objectCase {
	var out []*objectCase
	with := func(change func(*objectCase)) {
		c.work(1)
		x := c.anyObject()
		change(x)
		if x.tidy() {
			out = append(out, x)
		}
	}
	// The names of o, any value: what is asked of further names is not of them.
	apart := func(x *objectCase) {
		for _, p := range o.props {
			x.put(prop{name: p.name, value: everything})
		}
	}
	for _, p := range o.props {
		if p.required {
			with(func(x *objectCase) { x.put(prop{name: p.name, value: nothing}) })
		}
		if p.value != everything {
			with(func(x *objectCase) { x.put(prop{name: p.name, value: c.not(p.value), required: true}) })
		}
	}
	covered := regex.Nothing
	for _, k := range o.classes {
		covered = c.speller.or(covered, k.keys)
		if k.value != everything {
			with(func(x *objectCase) {
				apart(x)
				x.some = []some{{k.keys, c.not(k.value)}}
			})
		}
	}
	if others := c.speller.not(covered); !c.emptyTerm(others) {
		with(func(x *objectCase) {
			apart(x)
			x.some = []some{{others, everything}}
		})
	}
	for _, s := range o.some {
		with(func(x *objectCase) {
			apart(x)
			x.classes = nil
			if s.value != everything {
				x.classes = append(x.classes, class{keys: s.keys, value: c.not(s.value)})
			}
			if others := c.speller.not(s.keys); !c.emptyTerm(others) {
				x.classes = append(x.classes, class{keys: others, value: everything})
			}
		})
	}
	// Bounds that follow from the props alone have been negated with them.
	least := 0
	for _, p := range o.props {
		if p.required {
			least++
		}
	}
	if o.min > least {
		with(func(x *objectCase) { x.max = o.min - 1 })
	}
	if o.max != unbounded && len(o.classes) > 0 || o.max != unbounded && o.max < len(o.props) {
		with(func(x *objectCase) { x.min = o.max + 1 })
	}
	return out
}

// unevaluatedProperties asks that the properties that no keyword looked at are in value.
func (c *compiler) unevaluatedProperties(o *objectCase, value expr) *objectCase {
	out := o.clone()
	for i := range out.props {
		if p := &out.props[i]; !p.seen {
			p.value, p.seen = c.and(p.value, value), true
			if p.required && p.value == nothing {
				return nil
			}
		}
	}
	out.classes = out.classes[:0]
	for _, k := range o.classes {
		if !k.seen {
			k.value, k.seen = c.and(k.value, value), true
		}
		if k.value != nothing {
			out.classes = append(out.classes, k)
		}
	}
	if !out.tidy() {
		return nil
	}
	return out
}
