package jsonschema

import (
	"slices"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// lowerObject adds the objects of o to symbol.
func (c *compiler) lowerObject(symbol cfg.Symbol, o *objectCase) {
	var body []cfg.Symbol
	if o = c.listed(o); o.ordered {
		body = c.sequence(o, c.json)
	} else {
		bag, _ := c.bag(o, c.json)
		body = []cfg.Symbol{c.b.Bag("properties", bag)}
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
		text, err := c.speller.text(s)
		if err != nil {
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

// sequence lowers the props of an object that has all of them, in their order.
func (c *compiler) sequence(o *objectCase, write func(entry) []cfg.Symbol) []cfg.Symbol {
	var list []cfg.Symbol
	for _, p := range o.props {
		if !p.required {
			continue // it must not stand there
		}
		if len(list) > 0 {
			list = append(list, c.comma)
		}
		list = append(list, write(entry{p.name, false, true, c.speller.literal(p.name), p.value})...)
	}
	return list
}

// maxSome bounds the demands for further properties of one object.
const maxSome = 5

// entry is a property that may stand in a bag: one name, or one of further ones.
type entry struct {
	name     string
	further  bool
	required bool
	keys     regex.Term // of the names
	value    expr
}

// json writes a property as JSON does.
func (c *compiler) json(e entry) []cfg.Symbol {
	return []cfg.Symbol{c.key(e.keys), c.symbol(e.value)}
}

// bag describes the properties of an object that has them in any order. A property for which
// write returns nothing does not come. It also returns the number of required ones.
func (c *compiler) bag(o *objectCase, write func(entry) []cfg.Symbol) (bag cfg.Bag, required int) {
	if len(o.some) > maxSome {
		c.refuseHere(c.keyword, "more than %d demands on further properties of one object are not supported", maxSome)
	}
	bag = cfg.Bag{Separator: c.comma, Demands: len(o.some), Min: o.min, Max: -1}
	if o.max != unbounded {
		bag.Max = o.max
	}
	possible := 0
	for _, p := range o.props {
		if p.value == nothing {
			continue
		}
		symbols := write(entry{p.name, false, p.required, c.speller.literal(p.name), p.value})
		if len(symbols) == 0 {
			continue
		}
		possible++
		if p.required {
			required++
		}
		bag.Entries = append(bag.Entries, cfg.Entry{Symbols: symbols, Required: p.required})
	}
	for set := range 1 << len(o.some) {
		if s, ok := c.further(o, set, write); ok {
			bag.Entries = append(bag.Entries, cfg.Entry{Symbols: []cfg.Symbol{s}, Repeats: true, Meets: uint32(set)})
		}
	}
	// Bounds that hold anyway would only make more states.
	if bag.Min <= required {
		bag.Min = 0
	}
	if len(o.classes) == 0 && bag.Max >= possible {
		bag.Max = -1
	}
	return bag, required
}

// further returns the symbol of a property that is no prop and meets the
// demands in set.
func (c *compiler) further(o *objectCase, set int, write func(entry) []cfg.Symbol) (cfg.Symbol, bool) {
	any := false
	s := c.b.Nonterminal("property")
	for _, k := range o.classes {
		keys, x := k.keys, k.value
		for i, d := range o.some {
			if set>>i&1 != 0 {
				keys, x = c.speller.and(keys, d.keys), c.and(x, d.value)
			}
		}
		if keys = c.others(o, keys); c.emptyTerm(keys) || set != 0 && c.provedEmpty(x) {
			continue
		}
		if symbols := write(entry{"", true, false, keys, x}); len(symbols) > 0 {
			c.b.Add(s, symbols...)
			any = true
		}
	}
	return s, any
}
