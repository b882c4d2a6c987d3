package jsonschema

import "github.com/troupe-engine/troupe/model/grammar/regex"

// values applies "enum" and "const".
func (e *evaluation) values(s *shape) *shape {
	if v := e.get("const"); v != nil {
		s = e.intersect(s, e.shape(e.value(v)))
	}
	v := e.get("enum")
	if v == nil {
		return s
	}
	if v.kind != kindArray {
		e.invalid("enum", "a list of values")
	}
	listed := noShape()
	var texts, plain []regex.Term
	for _, item := range v.items {
		e.work(1)
		switch one := e.constant(item); item.kind {
		case kindString:
			texts = append(texts, one.texts)
		case kindNumber:
			plain = append(plain, one.numbers.plain)
			listed.numbers.some |= one.numbers.some
		default:
			listed = e.unite(listed, one)
		}
	}
	listed.texts = e.set.Or(texts...)
	listed.numbers.plain = e.set.Or(plain...)
	return e.intersect(s, listed)
}

// constant returns the shape of one value.
func (c *compiler) constant(v *value) *shape {
	s := noShape()
	switch v.kind {
	case kindNull:
		s.null = true
	case kindFalse:
		s.false = true
	case kindTrue:
		s.true = true
	case kindNumber:
		d, ok := parseDecimal(v.text)
		if !ok {
			c.refuseHere(c.keyword, "a number has more than %d digits", maxDigits)
		}
		s.numbers = c.numbers.equal(d)
	case kindString:
		s.texts = c.speller.literal(v.text)
	case kindArray:
		a := &arrayCase{rest: nothing, min: len(v.items), max: len(v.items)}
		for _, item := range v.items {
			a.prefix = append(a.prefix, c.value(item))
		}
		s.arrays = []*arrayCase{a}
	case kindObject:
		o := &objectCase{max: unbounded}
		for i, name := range v.names {
			o.put(prop{name: name, value: c.value(v.items[i]), required: true})
		}
		o.tidy()
		s.objects = []*objectCase{o}
	}
	return s
}
