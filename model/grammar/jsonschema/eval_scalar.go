package jsonschema

import (
	"fmt"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// types returns all values of the types that "type" names.
func (e *evaluation) types() *shape {
	v := e.get("type")
	any := e.anyShape()
	if v == nil {
		return any
	}
	list := []*value{v}
	if v.kind == kindArray {
		list = v.items
	}
	s := noShape()
	for _, t := range list {
		switch t.text {
		case "null":
			s.null = true
		case "boolean":
			s.false, s.true = true, true
		case "number":
			s.numbers = any.numbers
		case "integer":
			whole := numbers{e.numbers.integer, 0, allSigns}
			if e.draft == draft4 {
				whole.plain = e.set.Concat(e.numbers.minus, e.numbers.whole)
			}
			s.numbers = e.numbers.or(s.numbers, whole)
		case "string":
			s.texts = any.texts
		case "array":
			s.arrays = any.arrays
		case "object":
			s.objects = any.objects
		default:
			e.invalid("type", "null, boolean, number, integer, string, array, object, or a list of them")
		}
	}
	return s
}

// numbersOf narrows the numbers of s.
func (c *compiler) numbersOf(e *evaluation, s *shape) {
	if s.numbers.plain == regex.Nothing {
		return
	}
	narrow := func(n numbers) { s.numbers = c.numbers.and(s.numbers, n) }
	// In draft 4 the exclusive bounds are switches of the others.
	if d, ok := e.number("minimum"); ok {
		narrow(c.numbers.atLeast(d, !e.peek("exclusiveMinimum").isTrue()))
	}
	if d, ok := e.number("maximum"); ok {
		narrow(c.numbers.atMost(d, !e.peek("exclusiveMaximum").isTrue()))
	}
	if v := e.peek("exclusiveMinimum"); v != nil && v.kind != kindTrue && v.kind != kindFalse {
		d, _ := e.number("exclusiveMinimum")
		narrow(c.numbers.atLeast(d, false))
	}
	if v := e.peek("exclusiveMaximum"); v != nil && v.kind != kindTrue && v.kind != kindFalse {
		d, _ := e.number("exclusiveMaximum")
		narrow(c.numbers.atMost(d, false))
	}
	if d, ok := e.number("multipleOf"); ok {
		if d.negative || d.isZero() {
			e.invalid("multipleOf", "above 0")
		}
		multiples, ok := c.multiples[d]
		if !ok {
			if multiples, ok = c.numbers.multipleOf(d); !ok {
				c.refuse(e.at, "multipleOf", "multiples of %s take too large an automaton; leave it out, or use a smaller number", e.peek("multipleOf").text)
			}
			c.multiples[d] = multiples
		}
		narrow(multiples)
	}
}

// textsOf narrows the texts of s.
func (c *compiler) textsOf(e *evaluation, s *shape) {
	if s.texts == regex.Nothing {
		return
	}
	least, most := e.count("minLength", 0), e.count("maxLength", unbounded)
	if most >= tooMany {
		most = unbounded
	}
	if least > 0 || most != unbounded {
		s.texts = c.set.Repeat(c.speller.freeChar, least, most)
	}
	if pattern, ok := e.text("pattern"); ok {
		s.texts = c.speller.and(s.texts, c.pattern(e, "pattern", pattern))
	}
	if format, ok := e.text("format"); ok {
		t, ok := c.formats[format]
		if !ok {
			var err error
			if t, _, err = c.speller.format(format); err != nil {
				c.refuse(e.at, "format", "%q cannot be enforced: %v", format, err)
			}
			c.formats[format] = t
		}
		s.texts = c.speller.and(s.texts, t)
	}
}

// pattern returns the texts of a pattern that stands in e.
func (c *compiler) pattern(e *evaluation, keyword, pattern string) regex.Term {
	t, ok := c.patterns[pattern]
	if !ok {
		var err error
		c.work(len(pattern))
		if t, err = c.speller.pattern(pattern); err != nil {
			c.refuse(e.at, keyword, "%v, in %q", err, shorten(pattern))
		}
		c.patterns[pattern] = t
	}
	return t
}

// shorten cuts a text of the schema for an error.
func shorten(text string) string {
	if len(text) > 80 {
		return fmt.Sprintf("%.80s…", text)
	}
	return text
}
