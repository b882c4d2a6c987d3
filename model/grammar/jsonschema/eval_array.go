package jsonschema

// arraysOf narrows the arrays of s.
func (c *compiler) arraysOf(e *evaluation, s *shape) {
	if len(s.arrays) == 0 {
		return
	}
	a := &arrayCase{rest: everything, min: e.count("minItems", 0), max: e.count("maxItems", unbounded)}
	tuple := e.get("prefixItems")
	if e.draft < draft2020 {
		tuple = nil
	}
	items := e.get("items")
	switch {
	case items != nil && items.kind == kindArray:
		// Up to 2019-09; later a list is not allowed, and can mean nothing else.
		tuple = items
		if v := e.get("additionalItems"); v != nil {
			a.rest, a.seenAll = e.sub(v), c.tracking
		}
	case items != nil:
		a.rest, a.seenAll = e.sub(items), c.tracking
	}
	if tuple != nil {
		if tuple.kind != kindArray {
			e.invalid("prefixItems", "a list of schemas")
		}
		for _, x := range tuple.items {
			a.prefix = append(a.prefix, e.sub(x))
		}
		if c.tracking {
			a.seen = len(a.prefix)
		}
	}
	if v := e.get("contains"); v != nil && e.draft > draft4 {
		h := has{value: e.sub(v), min: 1, max: unbounded}
		if e.draft >= draft2019 {
			h.min, h.max = e.count("minContains", 1), e.count("maxContains", unbounded)
		}
		if h.min > 0 || h.max != unbounded {
			a.has = []has{h}
		}
		if c.tracking && e.draft >= draft2020 {
			a.seenIf = []expr{h.value}
		}
	}
	if e.get("uniqueItems").isTrue() {
		a.unique = e.at
	}
	if a = a.tidy(); a == nil {
		s.arrays = nil
		return
	}
	s.arrays = []*arrayCase{a}
}

// unevaluated applies the keywords that look at what all others left.
func (e *evaluation) unevaluated(s *shape) *shape {
	items, props := e.peek("unevaluatedItems"), e.peek("unevaluatedProperties")
	if e.draft < draft2019 || items == nil && props == nil {
		return s
	}
	out := *s
	if items != nil {
		e.keyword = "unevaluatedItems"
		out.arrays = nil
		for _, a := range s.arrays {
			if a := e.unevaluatedItems(a, e.sub(items)); a != nil {
				out.arrays = append(out.arrays, a)
			}
		}
	}
	if props != nil {
		e.keyword = "unevaluatedProperties"
		out.objects = nil
		for _, o := range s.objects {
			if o := e.unevaluatedProperties(o, e.sub(props)); o != nil {
				out.objects = append(out.objects, o)
			}
		}
	}
	return &out
}
