package jsonschema

import "github.com/troupe-engine/troupe/model/grammar/regex"

// emptiness is what is known of whether a set has a member.
type emptiness uint8

const (
	emptyUnknown emptiness = iota
	emptyBusy
	emptyProved
	emptyNotProved
)

// emptyDepth is how deep into values the search for a contradiction goes. It
// prunes branches and proves those of a oneOf apart; what it misses costs a
// larger grammar, never a wrong one.
const emptyDepth = 5

// emptyTerm reports whether t has no text.
func (c *compiler) emptyTerm(t regex.Term) bool {
	if t == regex.Nothing {
		return true
	}
	c.work(1)
	empty, err := c.set.IsEmpty(t)
	if err != nil {
		c.refuseHere(c.keyword, "%v", err)
	}
	return empty
}

// provedEmpty reports whether x is known to have no member.
func (c *compiler) provedEmpty(x expr) bool {
	if x == everything || x == nothing {
		return x == nothing
	}
	switch n := &c.nodes[x]; {
	case n.empty == emptyProved:
		return true
	case n.empty != emptyUnknown, c.depth >= emptyDepth, n.busy:
		return false
	}
	c.work(1)
	verdict, known := c.probe(x)
	if known && (verdict == emptyProved || c.depth == 0) {
		c.nodes[x].empty = verdict
	} else {
		c.nodes[x].empty = emptyUnknown // deeper down less is looked at
	}
	return verdict == emptyProved
}

// unfinished ends a probe that needs a shape which is only being found out.
type unfinished struct{}

// probe looks for a contradiction in x. known is false where it could not look.
func (c *compiler) probe(x expr) (verdict emptiness, known bool) {
	c.depth++
	depth := c.depth
	defer func() {
		c.depth = depth - 1
		if p := recover(); p != nil {
			if _, ours := p.(unfinished); !ours {
				panic(p)
			}
			verdict, known = emptyNotProved, false
		}
	}()
	s := c.shape(x)
	c.nodes[x].empty = emptyBusy
	if c.emptyShape(s) {
		return emptyProved, true
	}
	return emptyNotProved, true
}

func (c *compiler) emptyShape(s *shape) bool {
	if s.null || s.false || s.true || s.numbers.all != 0 {
		return false
	}
	if !c.emptyTerm(s.texts) || !c.emptyTerm(s.numbers.plain) {
		return false
	}
	for _, a := range s.arrays {
		if !c.emptyArray(a) {
			return false
		}
	}
	for _, o := range s.objects {
		if !c.emptyObject(o) {
			return false
		}
	}
	return true
}

func (c *compiler) emptyArray(a *arrayCase) bool {
	for i := range min(a.min, len(a.prefix)) {
		if c.provedEmpty(a.prefix[i]) {
			return true
		}
	}
	if a.min > len(a.prefix) && c.provedEmpty(a.rest) {
		return true
	}
	for _, h := range a.has {
		if h.min > 0 && h.from >= len(a.prefix) && c.provedEmpty(c.and(a.rest, h.value)) {
			return true
		}
	}
	return false
}

func (c *compiler) emptyObject(o *objectCase) bool {
	for _, p := range o.props {
		if p.required && c.provedEmpty(p.value) {
			return true
		}
	}
next:
	for _, s := range o.some {
		for _, k := range o.classes {
			if !c.emptyTerm(c.speller.and(s.keys, k.keys)) && !c.provedEmpty(c.and(s.value, k.value)) {
				continue next
			}
		}
		return true
	}
	return false
}
