package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// lowerObject adds the objects of o to symbol: props in their order, then
// others.
func (c *compiler) lowerObject(symbol cfg.Symbol, o *objectCase) {
	o = c.listed(o)
	required := 0
	for _, p := range o.props {
		if p.required {
			required++
		}
	}
	possible := 0
	for _, p := range o.props {
		if p.value != nothing {
			possible++
		}
	}
	free := o.max == unbounded || len(o.classes) == 0 && o.max >= possible
	var body []cfg.Symbol
	if len(o.some) == 0 && o.min <= required && free {
		body = c.plainObject(o)
	} else {
		body = []cfg.Symbol{c.countedObject(o)}
	}
	rhs := append([]cfg.Symbol{c.open["{"]}, body...)
	c.b.Add(symbol, append(rhs, c.open["}"])...)
}

// maxListed bounds the names of a class that become props.
const maxListed = 16

// listed turns classes of few names into props, so that none of them comes twice.
func (c *compiler) listed(o *objectCase) *objectCase {
	if len(o.some) > 0 {
		return o
	}
	out := o.clone()
	out.classes = out.classes[:0]
	for _, k := range o.classes {
		names, few := c.finite(k.keys)
		if !few {
			out.classes = append(out.classes, k)
			continue
		}
		for _, name := range names {
			if out.find(name) < 0 {
				out.put(prop{name: name, value: k.value})
			}
		}
	}
	return out
}

// finite returns the texts of t if they are few.
func (c *compiler) finite(t regex.Term) (texts []string, few bool) {
	if t == c.speller.free {
		return nil, false
	}
	spellings, few, err := c.set.Finite(t, 4*maxListed)
	if err != nil || !few {
		return nil, false
	}
	for _, s := range spellings {
		var text string
		if err := json.Unmarshal([]byte(`"`+s+`"`), &text); err != nil {
			return nil, false
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts, len(texts) <= maxListed
}

// key returns the terminal of a name and the colon behind it.
func (c *compiler) key(names regex.Term) cfg.Symbol {
	return c.b.Terminal(c.set.Concat(c.quoted(names), c.colon))
}

// others returns the names of keys that are no props of o.
func (c *compiler) others(o *objectCase, keys regex.Term) regex.Term {
	var names []regex.Term
	for _, p := range o.props {
		if keys == c.speller.free || c.speller.has(keys, p.name) {
			names = append(names, c.speller.literal(p.name))
		}
	}
	if len(names) == 0 {
		return keys
	}
	return c.speller.and(keys, c.speller.not(c.set.Or(names...)))
}

// plainObject lowers objects whose size does not matter, with a number of
// rules linear in the number of props. It works from the end: first[i] follows
// the opening brace, next[i] an earlier property, both before the i-th prop.
func (c *compiler) plainObject(o *objectCase) []cfg.Symbol {
	var first, next []cfg.Symbol
	if len(o.classes) > 0 {
		entry := c.b.Nonterminal("property")
		for _, k := range o.classes {
			c.b.Add(entry, c.key(c.others(o, k.keys)), c.symbol(k.value))
		}
		more := c.b.Repeat(c.b.Sequence(c.comma, entry), 0, -1)
		begin := c.b.Nonterminal("properties")
		c.b.Add(begin)
		c.b.Add(begin, entry, more)
		first, next = []cfg.Symbol{begin}, []cfg.Symbol{more}
	}
	join := func(list ...[]cfg.Symbol) []cfg.Symbol {
		var all []cfg.Symbol
		for _, l := range list {
			all = append(all, l...)
		}
		return all
	}
	for i := len(o.props) - 1; i >= 0; i-- {
		p := o.props[i]
		if p.value == nothing {
			continue
		}
		entry := []cfg.Symbol{c.key(c.speller.literal(p.name)), c.symbol(p.value)}
		follow := join([]cfg.Symbol{c.comma}, entry, next)
		begin := join(entry, next)
		if p.required {
			first, next = c.short(begin), c.short(follow)
			continue
		}
		a, b := c.b.Nonterminal("properties"), c.b.Nonterminal("properties")
		c.b.Add(a, begin...)
		c.b.Add(a, first...)
		c.b.Add(b, follow...)
		c.b.Add(b, next...)
		first, next = []cfg.Symbol{a}, []cfg.Symbol{b}
	}
	return first
}

// short gives a name to a sequence that grows too long to be written twice.
func (c *compiler) short(list []cfg.Symbol) []cfg.Symbol {
	if len(list) <= 24 {
		return list
	}
	return []cfg.Symbol{c.b.Sequence(list...)}
}

// maxSome bounds the demands for further properties of one object.
const maxSome = 5

// countedObject lowers objects whose size matters, or that need a property
// under a name that is no prop. A state is the index of the next prop, the
// number of properties so far, as far as it matters, and the demands met.
func (c *compiler) countedObject(o *objectCase) cfg.Symbol {
	if len(o.some) > maxSome {
		c.refuseHere(c.keyword, "more than %d demands on further properties of one object are not supported", maxSome)
	}
	l := &objectLowering{compiler: c, objectCase: o, states: map[string]cfg.Symbol{}, entries: map[string]cfg.Symbol{}}
	l.enough = max(o.min, 1)
	if o.max != unbounded {
		l.enough = max(o.max, 1)
	}
	first := l.state(0, 0, 0)
	for len(l.work) > 0 {
		next := l.work[len(l.work)-1]
		l.work = l.work[:len(l.work)-1]
		next()
	}
	return first
}

type objectLowering struct {
	*compiler
	*objectCase
	enough  int // counts beyond make no difference, or are too many
	states  map[string]cfg.Symbol
	entries map[string]cfg.Symbol
	work    []func()
}

func (l *objectLowering) state(i, count, met int) cfg.Symbol {
	if l.max == unbounded {
		count = min(count, l.enough)
	}
	key := fmt.Sprint(i, count, met)
	s, ok := l.states[key]
	if !ok {
		l.compiler.work(1)
		s = l.b.Nonterminal("properties")
		l.states[key] = s
		l.work = append(l.work, func() { l.fill(s, i, count, met) })
	}
	return s
}

func (l *objectLowering) fill(s cfg.Symbol, i, count, met int) {
	if err := l.b.Err(); err != nil {
		l.exhausted(err.Error())
	}
	var comma []cfg.Symbol
	if count > 0 {
		comma = []cfg.Symbol{l.comma}
	}
	full := l.max != unbounded && count >= l.max
	if i < len(l.props) {
		p := l.props[i]
		if !p.required {
			l.b.Add(s, l.state(i+1, count, met))
		}
		if p.value != nothing && !full {
			l.b.Add(s, append(comma, l.key(l.speller.literal(p.name)), l.symbol(p.value), l.state(i+1, count+1, met))...)
		}
		return
	}
	if count >= l.min && met == 1<<len(l.some)-1 {
		l.b.Add(s)
	}
	if full {
		return
	}
	for set := range 1 << len(l.some) {
		if set&met == 0 {
			if entry, ok := l.entry(set); ok {
				l.b.Add(s, append(comma, entry, l.state(i, count+1, met|set))...)
			}
		}
	}
}

// entry returns the symbol of a further property that meets the demands in set.
func (l *objectLowering) entry(set int) (cfg.Symbol, bool) {
	key := fmt.Sprint(set)
	s, ok := l.entries[key]
	if ok {
		return s, true
	}
	any := false
	s = l.b.Nonterminal("property")
	for _, k := range l.classes {
		keys, x := k.keys, k.value
		for i, d := range l.some {
			if set>>i&1 != 0 {
				keys, x = l.speller.and(keys, d.keys), l.and(x, d.value)
			}
		}
		if keys = l.others(l.objectCase, keys); l.emptyTerm(keys) || set != 0 && l.provedEmpty(x) {
			continue
		}
		l.b.Add(s, l.key(keys), l.symbol(x))
		any = true
	}
	l.entries[key] = s
	return s, any
}
