package jsonschema

import (
	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// lowering turns shapes into rules.
//
// Whitespace belongs to the terminals of punctuation: one blank, or a line
// break and an indentation, on both sides. So compact, spaced and indented
// texts are accepted and none can go on with whitespace for ever.
type lowering struct {
	b       *cfg.Builder
	symbols map[expr]cfg.Symbol
	queue   []queued
	space   regex.Term
	colon   regex.Term
	comma   cfg.Symbol
	open    map[string]cfg.Symbol // by bracket
	words   [3][]string           // null, false, true
	strings regex.Term            // what strings may be, between the quotes; Anything where all may
}

type queued struct {
	symbol cfg.Symbol
	of     expr
}

func newLowering(b *cfg.Builder, options Options) lowering {
	set, indent := b.Set, options.Indent
	l := lowering{b: b, symbols: map[expr]cfg.Symbol{}, open: map[string]cfg.Symbol{}, words: [3][]string{{"null"}, {"false"}, {"true"}}, strings: regex.Anything}
	if options.Python {
		l.words = [3][]string{{"None", "null"}, {"False", "false"}, {"True", "true"}}
	}
	if options.Without != "" {
		l.strings = set.Not(set.Concat(regex.Anything, set.Literal(options.Without), regex.Anything))
	}
	switch {
	case indent < 0:
		l.space = regex.Empty
	default:
		if indent == 0 {
			indent = 64
		}
		blank := set.OneOf(regex.SetOf(" \t"))
		lines := set.Concat(set.Or(regex.Empty, set.Literal("\r")), set.Literal("\n"), set.Repeat(blank, 0, indent))
		l.space = set.Or(regex.Empty, set.Literal(" "), lines)
	}
	l.colon = set.Concat(l.space, set.Literal(":"), l.space)
	l.comma = b.Terminal(set.Concat(l.space, set.Literal(","), l.space))
	for _, bracket := range []string{"[", "{"} {
		l.open[bracket] = b.Terminal(set.Concat(set.Literal(bracket), l.space))
	}
	for _, bracket := range []string{"]", "}"} {
		l.open[bracket] = b.Terminal(set.Concat(l.space, set.Literal(bracket)))
	}
	return l
}

// lower returns the symbol of x, all rules under it added.
func (c *compiler) lower(x expr) cfg.Symbol {
	symbol := c.symbol(x)
	c.drain()
	return symbol
}

// drain adds the rules that are still missing.
func (c *compiler) drain() {
	for len(c.queue) > 0 {
		next := c.queue[len(c.queue)-1]
		c.queue = c.queue[:len(c.queue)-1]
		shape := c.shape(next.of)
		c.here = c.origin(next.of)
		if t := c.scalars(shape); t != regex.Nothing {
			c.b.Add(next.symbol, c.b.Terminal(t))
		}
		if t := shape.texts; t != regex.Nothing {
			c.b.Add(next.symbol, c.b.Terminal(c.quoted(t)))
		}
		for _, a := range shape.arrays {
			c.work(1 + len(a.prefix))
			c.lowerArray(next.symbol, a)
		}
		for _, o := range shape.objects {
			c.work(1 + len(o.props))
			c.lowerObject(next.symbol, o)
		}
		if err := c.b.Err(); err != nil {
			c.exhausted(err.Error())
		}
	}
}

// symbol returns the symbol of x, whose rules may come later.
func (c *compiler) symbol(x expr) cfg.Symbol {
	if s, ok := c.symbols[x]; ok {
		return s
	}
	shape := c.shape(x)
	var s cfg.Symbol
	scalars := c.scalars(shape)
	switch {
	case len(shape.arrays) > 0 || len(shape.objects) > 0:
		s = c.b.Nonterminal(c.name(x))
		c.queue = append(c.queue, queued{s, x})
	case shape.texts == regex.Nothing:
		s = c.b.Terminal(scalars)
	case scalars == regex.Nothing:
		s = c.b.Terminal(c.quoted(shape.texts))
	default:
		s = c.b.Choice(c.b.Terminal(scalars), c.b.Terminal(c.quoted(shape.texts)))
	}
	c.symbols[x] = s
	return s
}

// origin returns a schema that x is made of, nil if there is none.
func (c *compiler) origin(x expr) *value {
	switch n := c.nodes[x]; n.op {
	case opSchema, opValue:
		return n.at
	case opAnd, opOr, opNot:
		return c.origin(n.subs[0])
	}
	return nil
}

// name is what errors and dumps call x.
func (c *compiler) name(x expr) string {
	switch n := c.nodes[x]; n.op {
	case opEverything:
		return "value"
	case opSchema, opValue:
		if p := c.pointer(n.at); p != "" {
			return p
		}
		return "#"
	case opAnd:
		return c.name(n.subs[0]) + "&"
	case opOr:
		return c.name(n.subs[0]) + "|"
	case opTyped:
		return "typed"
	case opNot:
		return "not " + c.name(n.subs[0])
	}
	return "nothing"
}

// quoted returns the JSON strings of texts.
func (c *compiler) quoted(texts regex.Term) regex.Term {
	quote := c.set.Literal(`"`)
	if c.strings != regex.Anything {
		texts = c.set.And(texts, c.strings)
	}
	return c.set.Concat(quote, texts, quote)
}

// scalars returns the texts of null, booleans and numbers of s.
func (c *compiler) scalars(s *shape) regex.Term {
	list := []regex.Term{c.numbers.spelled(s.numbers)}
	for _, word := range []struct {
		in    bool
		texts []string
	}{{s.null, c.words[0]}, {s.false, c.words[1]}, {s.true, c.words[2]}} {
		for _, text := range word.texts {
			if word.in {
				list = append(list, c.set.Literal(text))
			}
		}
	}
	return c.set.Or(list...)
}
