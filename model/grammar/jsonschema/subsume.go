package jsonschema

import "slices"

// subset reports whether it is plain to see that every object of a is in b.
func (c *compiler) subset(a, b *objectCase) bool {
	if b.ordered && !a.ordered || a.min < b.min || b.max != unbounded && (a.max == unbounded || a.max > b.max) {
		return false
	}
	for _, s := range b.some {
		if !slices.Contains(a.some, s) {
			return false
		}
	}
	for _, p := range b.props {
		q := c.at(a, p.name)
		if p.required && !q.required || p.seen != q.seen || !c.implied(q.value, p.value) {
			return false
		}
	}
	for _, q := range a.props {
		if b.find(q.name) < 0 {
			if p := c.at(b, q.name); p.seen != q.seen || !c.implied(q.value, p.value) {
				return false
			}
		}
	}
	for _, k := range a.classes {
		if !slices.ContainsFunc(b.classes, func(l class) bool {
			return (l.keys == k.keys || l.keys == c.speller.free) && l.seen == k.seen && c.implied(k.value, l.value)
		}) {
			return false
		}
	}
	return true
}

// implied reports whether x is y, or a conjunction with it.
func (c *compiler) implied(x, y expr) bool {
	if x == y || y == everything || x == nothing {
		return true
	}
	n := c.nodes[x]
	if n.op != opAnd {
		return false
	}
	if m := c.nodes[y]; m.op == opAnd {
		for _, sub := range m.subs {
			if !slices.Contains(n.subs, sub) {
				return false
			}
		}
		return true
	}
	return slices.Contains(n.subs, y)
}

// maximal leaves out cases that others hold. Props of what is left keep the
// order of the case that they are in.
func (c *compiler) maximal(list []*objectCase) []*objectCase {
	var out []*objectCase
	for i, x := range list {
		c.work(1 + len(out)/8)
		covered := false
		for _, y := range out {
			if covered = c.subset(x, y); covered {
				break
			}
		}
		for j := i + 1; j < len(list) && !covered; j++ {
			covered = c.subset(x, list[j]) && !c.subset(list[j], x)
		}
		if !covered {
			out = append(out, x)
		}
	}
	return out
}
