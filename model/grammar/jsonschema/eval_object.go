package jsonschema

import "slices"

// objectsOf narrows the objects of s.
func (c *compiler) objectsOf(e *evaluation, s *shape) {
	if len(s.objects) == 0 {
		return
	}
	o := &objectCase{min: e.count("minProperties", 0), max: e.count("maxProperties", unbounded)}
	o.classes = c.classesOf(e)
	names := c.speller.free
	if v := e.get("propertyNames"); v != nil && e.draft > draft4 {
		names = c.shape(e.sub(v)).texts
		kept := o.classes[:0]
		for _, k := range o.classes {
			if k.keys = c.speller.and(k.keys, names); !c.emptyTerm(k.keys) {
				kept = append(kept, k)
			}
		}
		o.classes = kept
	}
	if v := e.object("properties"); v != nil {
		c.work(len(v.names))
		patterns := e.object("patternProperties")
		for i, name := range v.names {
			p := prop{name: name, value: e.sub(v.items[i]), seen: c.tracking}
			if patterns != nil {
				for j, pattern := range patterns.names {
					if c.speller.has(c.pattern(e, "patternProperties", pattern), name) {
						p.value = c.and(p.value, e.sub(patterns.items[j]))
					}
				}
			}
			if names != c.speller.free && !c.speller.has(names, name) {
				p.value = nothing
			}
			o.put(p)
		}
	}
	if v := e.get("required"); v != nil && v.kind == kindArray {
		for _, item := range v.items {
			if item.kind != kindString {
				e.invalid("required", "a list of names")
			}
			p := c.at(o, item.text)
			p.required = true
			o.put(p)
		}
	} else if v != nil && e.draft > draft4 {
		e.invalid("required", "a list of names")
	}
	for _, p := range o.props {
		if p.required && p.value == nothing {
			s.objects = nil
			return
		}
	}
	if !o.tidy() {
		s.objects = nil
		return
	}
	o.ordered = c.strict && len(o.classes) == 0 && !slices.ContainsFunc(o.props, func(p prop) bool { return !p.required })
	s.objects = []*objectCase{o}
}

// classesOf divides the names by which patterns they match.
func (c *compiler) classesOf(e *evaluation) []class {
	free := class{keys: c.speller.free, value: everything}
	const unmatched = expr(-1)
	free.value = unmatched
	classes := []class{free}
	if v := e.object("patternProperties"); v != nil {
		for i, pattern := range v.names {
			keys, x := c.pattern(e, "patternProperties", pattern), e.sub(v.items[i])
			var split []class
			for _, k := range classes {
				c.work(1)
				in := class{c.speller.and(k.keys, keys), x, c.tracking}
				if k.value != unmatched {
					in.value = c.and(k.value, x)
				}
				if out := c.speller.and(k.keys, c.speller.not(keys)); !c.emptyTerm(out) {
					split = append(split, class{out, k.value, k.seen})
				}
				if !c.emptyTerm(in.keys) {
					split = append(split, in)
				}
			}
			if classes = split; len(classes) > maxClasses {
				e.refuse(e.at, "patternProperties", "the patterns overlap in more than %d ways", maxClasses)
			}
		}
	}
	kept := classes[:0]
	for _, k := range classes {
		if k.value == unmatched {
			k.value, k.seen = e.optional("additionalProperties"), c.tracking && e.peek("additionalProperties") != nil
		}
		if k.value != nothing {
			kept = append(kept, k)
		}
	}
	return kept
}

// maxClasses bounds the classes of names of one object.
const maxClasses = 256
