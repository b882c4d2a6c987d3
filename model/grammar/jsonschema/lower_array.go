package jsonschema

import (
	"fmt"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
)

// lowerArray adds the arrays of a to symbol.
func (c *compiler) lowerArray(symbol cfg.Symbol, a *arrayCase) {
	l := &arrayLowering{compiler: c, arrayCase: a, states: map[string]cfg.Symbol{}}
	if a.unique != nil && a.max != 0 && a.max != 1 && !c.apart(a) {
		l.candidates = c.candidatesOf(a)
		if l.candidates == nil || len(a.has) > 0 {
			c.refuse(a.unique, "uniqueItems", "it can be kept only where items are of at most %d known values, or there is at most one item", maxCandidates)
		}
	}
	if len(a.has) > maxHas {
		c.refuseHere("contains", "more than %d demands on one array are not supported", maxHas)
	}
	// From here on items do not differ by where they stand.
	l.steady = max(len(a.prefix), a.min, 1)
	for _, h := range a.has {
		l.steady = max(l.steady, h.from)
	}
	c.b.Add(symbol, c.open["["], l.from(0, make([]int, len(a.has)), 0), c.open["]"])
}

const (
	maxHas        = 4
	maxCandidates = 10
)

// arrayLowering makes one nonterminal for what may follow in an array after
// some items: how many there were, how many of them each demand has counted,
// and which of the candidates stand there.
type arrayLowering struct {
	*compiler
	*arrayCase
	steady     int
	candidates []expr
	states     map[string]cfg.Symbol
	work       []func()
}

// from returns the symbol of what may follow after n items.
func (l *arrayLowering) from(n int, counts []int, used uint) cfg.Symbol {
	first := l.state(n, counts, used)
	for len(l.work) > 0 {
		next := l.work[len(l.work)-1]
		l.work = l.work[:len(l.work)-1]
		next()
	}
	return first
}

func (l *arrayLowering) state(n int, counts []int, used uint) cfg.Symbol {
	if l.max == unbounded {
		n = min(n, l.steady)
	}
	key := fmt.Sprint(n, counts, used)
	s, ok := l.states[key]
	if !ok {
		l.compiler.work(1)
		s = l.b.Nonterminal("items")
		l.states[key] = s
		l.work = append(l.work, func() { l.fill(s, n, counts, used) })
	}
	return s
}

// fill adds the rules of a state: the array may end, or an item follows.
func (l *arrayLowering) fill(s cfg.Symbol, n int, counts []int, used uint) {
	if err := l.b.Err(); err != nil {
		l.exhausted(err.Error())
	}
	ends := n >= l.min
	for i, h := range l.has {
		ends = ends && counts[i] >= h.min
	}
	if ends {
		l.b.Add(s)
	}
	if l.max != unbounded && n >= l.max {
		return
	}
	add := func(x expr, counts []int, used uint) {
		if x == nothing {
			return
		}
		next := l.state(n+1, counts, used)
		if n == 0 {
			l.b.Add(s, l.symbol(x), next)
		} else {
			l.b.Add(s, l.comma, l.symbol(x), next)
		}
	}
	if l.candidates != nil {
		for i, x := range l.candidates {
			if used>>i&1 == 0 {
				if x = l.and(l.item(n), x); !l.provedEmpty(x) {
					add(x, counts, used|1<<i)
				}
			}
		}
		return
	}
	for set := range 1 << len(l.has) {
		if x, next, ok := l.counted(n, counts, set); ok {
			add(x, next, 0)
		}
	}
}

// counted returns the items that exactly the demands in set count, as far as
// it matters whether they do.
func (l *arrayLowering) counted(n int, counts []int, set int) (x expr, next []int, ok bool) {
	x = l.item(n)
	next = append(next, counts...)
	for i, h := range l.has {
		in := set>>i&1 != 0
		switch most := h.max; {
		case n < h.from || most == unbounded && counts[i] >= h.min:
			if in {
				return x, nil, false // said by the set without it
			}
		case in:
			if most != unbounded && counts[i] == most {
				return x, nil, false
			}
			x = l.and(x, h.value)
			next[i]++
		case most != unbounded:
			x = l.and(x, l.not(h.value))
		}
	}
	return x, next, len(l.has) == 0 || !l.provedEmpty(x)
}

// apart reports whether items of a are known to differ by where they stand.
func (c *compiler) apart(a *arrayCase) bool {
	if a.max == unbounded || a.max > len(a.prefix) || len(a.prefix) > maxCandidates {
		return false
	}
	for i, x := range a.prefix {
		for _, y := range a.prefix[:i] {
			if !c.provedEmpty(c.and(x, y)) {
				return false
			}
		}
	}
	return true
}

// candidatesOf returns the values that items of a may have, nil where they are
// not known or too many.
func (c *compiler) candidatesOf(a *arrayCase) []expr {
	var out []expr
	seen := map[string]bool{}
	items := a.prefix
	if a.rest != nothing {
		items = append(items[:len(items):len(items)], a.rest)
	}
	for _, x := range items {
		values := c.valuesOf(x)
		if values == nil {
			return nil
		}
		for _, v := range values {
			if key := canonical(v); !seen[key] && !c.provedEmpty(c.and(x, c.value(v))) {
				seen[key] = true
				out = append(out, c.value(v))
			}
		}
	}
	if len(out) > maxCandidates {
		return nil
	}
	return out
}

var words = []*value{{kind: kindNull}, {kind: kindFalse}, {kind: kindTrue}}

// valuesOf returns values that hold all of x, nil where none are listed.
func (c *compiler) valuesOf(x expr) []*value {
	switch n := c.nodes[x]; n.op {
	case opValue:
		return []*value{n.at}
	case opAnd:
		for _, sub := range n.subs {
			if list := c.valuesOf(sub); list != nil {
				return list
			}
		}
	case opOr:
		var all []*value
		for _, sub := range n.subs {
			list := c.valuesOf(sub)
			if list == nil {
				return nil
			}
			all = append(all, list...)
		}
		return all
	case opSchema:
		if v := n.at.get("const"); v != nil {
			return []*value{v}
		}
		if v := n.at.get("enum"); v != nil && v.kind == kindArray {
			return v.items
		}
	case opNothing:
		return []*value{}
	}
	s := c.shape(x)
	if s.texts == 0 && s.numbers.plain == 0 && s.numbers.all == 0 && len(s.arrays)+len(s.objects) == 0 {
		return words
	}
	return nil
}
