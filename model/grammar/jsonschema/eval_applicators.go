package jsonschema

// reference returns the schema that a referring keyword names.
func (e *evaluation) reference(keyword string) expr {
	ref, ok := e.text(keyword)
	if !ok {
		return everything
	}
	r := e.docs.of(e.at)
	target, reason, err := e.docs.find(r, ref)
	if err != nil {
		e.refuse(e.at, keyword, "%q: %v", shorten(ref), err)
	}
	if target == nil {
		e.refuse(e.at, keyword, "%s", reason)
	}
	// A dynamic reference that begins at a dynamic anchor ends at the outermost
	// schema with that anchor.
	to := e.docs.of(target)
	switch keyword {
	case "$dynamicRef":
		if _, anchor := resolve(r.base, ref); anchor != "" && to.dynamic[anchor] == target {
			if outer := e.scopes.known[e.scope][anchor]; outer != nil {
				target = outer
			}
		}
	case "$recursiveRef":
		if to.dynamic[recursiveAnchor] == target {
			if outer := e.scopes.known[e.scope][recursiveAnchor]; outer != nil {
				target = outer
			}
		}
	}
	return e.sub(target)
}

// combined applies references, "allOf" and "anyOf".
func (e *evaluation) combined(s *shape) *shape {
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf"} {
		if e.peek(keyword) == nil {
			continue
		}
		switch keyword {
		case "allOf":
			for _, x := range e.list("allOf") {
				e.keyword = "allOf"
				s = e.intersect(s, e.shape(x))
			}
		case "anyOf":
			s = e.anyOf(s, e.list("anyOf"))
		default:
			if keyword == "$dynamicRef" && e.draft < draft2020 || keyword == "$recursiveRef" && e.draft != draft2019 {
				continue
			}
			s = e.intersect(s, e.shape(e.reference(keyword)))
		}
	}
	return s
}

// inPlace applies the other schemas that speak about the same value.
func (e *evaluation) inPlace(s *shape) *shape {
	if list := e.list("oneOf"); list != nil {
		s = e.oneOf(s, list)
	}
	if v := e.get("not"); v != nil {
		s = e.subtract(s, e.shape(e.sub(v)))
	}
	s = e.conditional(s)
	return e.dependent(s)
}

// anyOf is kept before what it is intersected with is known to be small, so
// each branch meets s on its own and contradictions go at once.
func (e *evaluation) anyOf(s *shape, list []expr) *shape {
	out := noShape()
	for _, x := range list {
		e.keyword = "anyOf"
		out = e.unite(out, e.intersect(s, e.shape(x)))
	}
	if !e.tracking {
		return out
	}
	// With unevaluated keywords it matters which of the branches hold together.
	const most = 8
	if len(list) > most {
		e.refuse(e.at, "anyOf", "beside unevaluated keywords at most %d branches are supported", most)
	}
	for set := 1; set < 1<<len(list); set++ {
		if set&(set-1) == 0 {
			continue
		}
		both := s
		for i, x := range list {
			if set>>i&1 != 0 {
				both = e.intersect(both, e.shape(x))
			}
		}
		out = e.unite(out, both)
	}
	return out
}

// oneOf takes from each branch what another one also has.
func (e *evaluation) oneOf(s *shape, list []expr) *shape {
	out := noShape()
	shapes := make([]*shape, len(list))
	for i, x := range list {
		e.keyword = "oneOf"
		shapes[i] = e.intersect(s, e.shape(x))
	}
	for i, one := range shapes {
		for j, other := range shapes {
			if i != j {
				e.keyword = "oneOf"
				one = e.subtract(one, other)
			}
		}
		out = e.unite(out, one)
	}
	return out
}

// conditional applies "if", "then" and "else".
func (e *evaluation) conditional(s *shape) *shape {
	condition := e.get("if")
	if condition == nil || e.draft < draft7 {
		return s
	}
	if e.peek("then") == nil && e.peek("else") == nil && !e.tracking {
		return s
	}
	met := e.shape(e.sub(condition))
	then, otherwise := e.intersect(s, met), e.subtract(s, met)
	e.keyword = "if"
	then = e.intersect(then, e.shape(e.optional("then")))
	otherwise = e.intersect(otherwise, e.shape(e.optional("else")))
	return e.unite(then, otherwise)
}

// dependent applies what holds for an object as soon as it has a property.
func (e *evaluation) dependent(s *shape) *shape {
	for _, keyword := range []string{"dependencies", "dependentRequired", "dependentSchemas"} {
		v := e.object(keyword)
		if v == nil || keyword != "dependencies" && e.draft < draft2019 {
			continue
		}
		for i, name := range v.names {
			e.keyword = keyword
			var then *shape
			if item := v.items[i]; keyword == "dependentRequired" || keyword == "dependencies" && item.kind == kindArray {
				o := e.anyObject()
				for _, also := range item.items {
					o.put(prop{name: also.text, value: everything, required: true})
				}
				o.tidy()
				then = &shape{objects: []*objectCase{o}}
			} else {
				then = e.shape(e.sub(item))
			}
			s = e.implies(s, name, then)
		}
	}
	return s
}

// implies asks of the objects of s with the property name that they are in then.
func (e *evaluation) implies(s *shape, name string, then *shape) *shape {
	without, with := e.anyObject(), e.anyObject()
	without.put(prop{name: name, value: nothing})
	with.put(prop{name: name, value: everything, required: true})
	out := *s
	out.objects = uniteCases(
		e.meetObjects(s.objects, []*objectCase{without}),
		e.meetObjects(e.meetObjects(s.objects, []*objectCase{with}), then.objects),
		(*objectCase).equal)
	e.countCases(len(out.objects), "objects")
	return &out
}
