package outputs

import (
	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// bare is arguments with bare words for keys. They have the right form, and need not fulfil a
// schema.
func (c *compiler) bare(t *tool) (part, error) {
	if t.Strict {
		return nothing, place(t.at+"/strict", &jsonschema.Error{Reason: "calls in the format " + c.Format.Name + " cannot be held to a schema; leave strict out"})
	}
	return c.bareObject(), nil
}

// bareObject is any object, the same for all tools.
func (c *compiler) bareObject() part {
	if c.bared != nothing {
		return c.bared
	}
	s, space := c.set, c.term(c.space)
	comma := c.seq(space, c.literal(","), space)
	digits := func(min int) regex.Term { return s.Repeat(s.OneOf(regex.SetOf("0123456789")), min, 30) }
	optional := func(t regex.Term) regex.Term { return s.Or(regex.Empty, t) }
	number := s.Concat(optional(s.Literal("-")), s.Or(s.Literal("0"), s.Concat(s.OneOf(regex.SetOf("123456789")), digits(0))),
		optional(s.Concat(s.Literal("."), digits(1))), optional(s.Concat(s.OneOf(regex.SetOf("eE")), optional(s.OneOf(regex.SetOf("+-"))), digits(1))))
	value, object, list := c.b.Nonterminal("value"), c.b.Nonterminal("object"), c.b.Nonterminal("list")
	text := c.bareText(c.term(c.anyText))
	var word regex.ByteSet
	for b := range 256 {
		if output.InField("name", byte(b)) && b != ':' {
			word = word.With(byte(b))
		}
	}
	key := c.choice(c.term(s.Repeat(s.OneOf(word), 1, 64)), text)
	member := c.seq(key, space, c.literal(":"), space, c.sym(value))
	for _, p := range []part{c.term(s.Or(number, c.anyOf([]string{"true", "false", "null"}))), text, c.sym(object), c.sym(list)} {
		c.b.Add(value, c.symbol(p))
	}
	items := func(one part) part { return c.optional(c.seq(one, c.repeat(c.seq(comma, one)))) }
	c.b.Add(object, c.flat(c.literal("{"), space, items(member), space, c.literal("}"))...)
	c.b.Add(list, c.flat(c.literal("["), space, items(c.sym(value)), space, c.literal("]"))...)
	c.bared = c.sym(object)
	return c.bared
}

// bareText is a string between quote marks, of some texts.
func (c *compiler) bareText(text part) part {
	if !text.isSymbol {
		text = c.term(c.before(text.term, output.Quote, output.Quote))
	}
	return c.seq(c.marked(output.Quote), text, c.marked(output.Quote))
}
