package outputs

import (
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// part is a piece of a grammar: a regular language, or a symbol. Neighbours that are regular become
// one terminal, which is followed faster than two.
type part struct {
	term     regex.Term
	sym      cfg.Symbol
	isSymbol bool
}

var nothing = part{term: regex.Empty}

func (c *compiler) term(t regex.Term) part   { return part{term: t} }
func (c *compiler) sym(s cfg.Symbol) part    { return part{sym: s, isSymbol: true} }
func (c *compiler) literal(text string) part { return c.term(c.set.Literal(text)) }

// symbol returns the symbol of a part.
func (c *compiler) symbol(p part) cfg.Symbol {
	if p.isSymbol {
		return p.sym
	}
	return c.b.Terminal(p.term)
}

// flat returns the symbols of parts in order.
func (c *compiler) flat(parts ...part) []cfg.Symbol {
	var list []cfg.Symbol
	term := regex.Empty
	flush := func() {
		if term != regex.Empty {
			list = append(list, c.b.Terminal(term))
		}
		term = regex.Empty
	}
	for _, p := range parts {
		if p.isSymbol {
			flush()
			list = append(list, p.sym)
		} else {
			term = c.set.Concat(term, p.term)
		}
	}
	flush()
	return list
}

// seq is parts in order.
func (c *compiler) seq(parts ...part) part {
	regular := true
	for _, p := range parts {
		regular = regular && !p.isSymbol
	}
	if regular {
		term := regex.Empty
		for _, p := range parts {
			term = c.set.Concat(term, p.term)
		}
		return c.term(term)
	}
	return c.sym(c.b.Sequence(c.flat(parts...)...))
}

// choice is one of parts.
func (c *compiler) choice(parts ...part) part {
	var terms []regex.Term
	var others []part
	for _, p := range parts {
		if p.isSymbol {
			others = append(others, p)
		} else {
			terms = append(terms, p.term)
		}
	}
	if len(others) == 0 {
		return c.term(c.set.Or(terms...))
	}
	n := c.b.Nonterminal("one of")
	for _, p := range others {
		c.b.Add(n, p.sym)
	}
	if len(terms) > 0 {
		c.b.Add(n, c.b.Terminal(c.set.Or(terms...)))
	}
	return c.sym(n)
}

func (c *compiler) optional(p part) part { return c.choice(nothing, p) }

// repeat is any number of p, none too. p is not the empty text.
func (c *compiler) repeat(p part) part { return c.sym(c.b.Repeat(c.symbol(p), 0, -1)) }

// mark is the text of a mark. What is a special token of the vocabulary is that token.
func (c *compiler) mark(text string) []part {
	var list []part
	for text != "" {
		if c.o.Special == nil {
			return append(list, c.literal(text))
		}
		from, to, id, ok := c.o.Special(text)
		if !ok {
			return append(list, c.literal(text))
		}
		if from > 0 {
			list = append(list, c.literal(text[:from]))
		}
		if c.o.Ends == nil || !c.o.Ends(id) {
			list = append(list, c.sym(c.b.Token(id)))
		}
		text = text[to:]
	}
	return list
}

func (c *compiler) marked(text string) part { return c.seq(c.mark(text)...) }

// before returns the texts of t that may stand before word so that the first of words, of which word is
// one, begins with it.
func (c *compiler) before(t regex.Term, word string, words ...string) regex.Term {
	return c.border(c.without(t, words...), word, words...)
}

// border returns the texts of t behind which word begins, but none of words began earlier.
func (c *compiler) border(t regex.Term, word string, words ...string) regex.Term {
	s := c.set
	var bad []regex.Term
	for _, w := range words {
		for i := 1; i < len(w); i++ {
			if strings.HasPrefix(word, w[i:]) {
				bad = append(bad, s.Concat(regex.Anything, s.Literal(w[:i])))
			}
		}
	}
	return s.And(t, s.Not(s.Or(bad...)))
}

// anyOf is one of words.
func (c *compiler) anyOf(words []string) regex.Term {
	terms := make([]regex.Term, 0, len(words))
	for _, w := range words {
		if w != "" {
			terms = append(terms, c.set.Literal(w))
		}
	}
	return c.set.Or(terms...)
}

// without returns the texts of t that hold none of words, which are not empty.
func (c *compiler) without(t regex.Term, words ...string) regex.Term {
	if len(words) == 0 {
		return t
	}
	return c.set.And(t, c.set.Not(c.set.Concat(regex.Anything, c.anyOf(words), regex.Anything)))
}
