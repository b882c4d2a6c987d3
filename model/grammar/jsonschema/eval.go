package jsonschema

// schema returns the set that the schema at v describes, reached in scope from.
func (c *compiler) schema(v *value, from scope) expr {
	switch v.kind {
	case kindTrue:
		return everything
	case kindFalse:
		return nothing
	case kindObject:
	default:
		c.refuse(v, "", "a schema must be an object, true or false, not %s", v.kind)
	}
	if !asserts(v) {
		return everything
	}
	r := c.docs.of(v)
	key := schemaKey{v, c.scopes.enter(from, r)}
	x, ok := c.schemas[key]
	if !ok {
		x = c.push(exprNode{op: opSchema, at: v, scope: key.scope})
		c.schemas[key] = x
	}
	return x
}

// asserts reports whether a schema has a keyword that could forbid something.
func asserts(v *value) bool {
	for _, name := range v.names {
		if holdingOf(name) != holdsNone && name != "$defs" && name != "definitions" && name != "contentSchema" {
			return true
		}
		switch name {
		case "$ref", "$dynamicRef", "$recursiveRef", "type", "enum", "const", "format", "pattern", "required", "uniqueItems", "multipleOf",
			"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
			"minProperties", "maxProperties", "dependentRequired", "$schema":
			return true
		}
	}
	return false
}

// shape returns the cases of x.
func (c *compiler) shape(x expr) *shape {
	n := c.nodes[x]
	if n.shape != nil {
		return n.shape
	}
	if n.busy {
		if c.depth > 0 {
			panic(unfinished{})
		}
		c.refuse(n.at, "$ref", "the schema refers to itself and says nothing else")
	}
	c.nodes[x].busy = true
	here, keyword := c.here, c.keyword
	defer func() {
		c.here, c.keyword = here, keyword
		c.nodes[x].busy = false
	}()
	var s *shape
	switch n.op {
	case opEverything:
		s = c.anyShape()
	case opNothing:
		s = noShape()
	case opValue:
		s = c.constant(n.at)
	case opSchema:
		c.here = n.at
		s = c.evaluate(n.at, n.scope)
	case opAnd:
		s = c.shape(n.subs[0])
		for _, sub := range n.subs[1:] {
			s = c.intersect(s, c.shape(sub))
		}
	case opOr:
		s = noShape()
		for _, sub := range n.subs {
			s = c.unite(s, c.shape(sub))
		}
	case opNot:
		s = c.subtract(c.anyShape(), c.shape(n.subs[0]))
	}
	c.nodes[x].shape = s
	return s
}

// evaluate returns the values that the schema object at v admits.
func (c *compiler) evaluate(v *value, in scope) *shape {
	c.work(1 + len(v.names))
	e := &evaluation{compiler: c, at: v, scope: in, draft: c.docs.of(v).draft}
	if schema := v.get("$schema"); schema != nil {
		c.checkDialect(v, schema)
	}
	if e.draft <= draft7 {
		if ref := e.get("$ref"); ref != nil && ref.kind == kindString {
			return c.shape(e.reference("$ref"))
		}
	}
	s := e.types()
	c.numbersOf(e, s)
	c.textsOf(e, s)
	c.arraysOf(e, s)
	c.objectsOf(e, s)
	s = e.combined(e.values(s))
	return e.unevaluated(e.inPlace(s))
}

// checkDialect refuses vocabularies of the request's own.
func (c *compiler) checkDialect(v, schema *value) {
	if schema.kind != kindString {
		c.refuse(v, "$schema", "it must be a string")
	}
	if _, known := draftOf(schema.text); !known {
		if _, own := c.docs.remotes[schema.text]; own {
			c.refuse(v, "$schema", "a meta schema of one's own is not supported")
		}
	}
}

// evaluation is one schema object under evaluation.
type evaluation struct {
	*compiler
	at    *value
	scope scope
	draft draft
}

// get returns the value of a keyword and notes it for errors.
func (e *evaluation) get(keyword string) *value {
	v := e.peek(keyword)
	if v != nil {
		e.keyword = keyword
	}
	return v
}

// peek is get without the note. A keyword that is left out is absent.
func (e *evaluation) peek(keyword string) *value {
	if e.leftOut[place{e.at, keyword}] {
		return nil
	}
	return e.at.get(keyword)
}

// sub returns the set of a schema below e's.
func (e *evaluation) sub(v *value) expr { return e.schema(v, e.scope) }

// invalid ends the compilation of a schema that is none.
func (e *evaluation) invalid(keyword, want string) {
	panic(refusal{err: &Error{Pointer: e.pointer(e.at), Keyword: keyword, Reason: "it must be " + want}})
}

func (e *evaluation) text(keyword string) (string, bool) {
	v := e.get(keyword)
	if v == nil {
		return "", false
	}
	if v.kind != kindString {
		e.invalid(keyword, "a string")
	}
	return v.text, true
}

// count returns a number that counts something, absent where the keyword is.
func (e *evaluation) count(keyword string, absent int) int {
	v := e.get(keyword)
	if v == nil {
		return absent
	}
	if v.kind == kindNumber {
		if d, ok := parseDecimal(v.text); ok && !d.negative && d.fraction == "" {
			n := 0
			for _, digit := range d.whole {
				n = min(n*10+int(digit-'0'), tooMany)
			}
			return n
		}
	}
	e.invalid(keyword, "a whole number, not negative")
	return 0
}

func (e *evaluation) number(keyword string) (decimal, bool) {
	v := e.get(keyword)
	if v == nil {
		return decimal{}, false
	}
	if v.kind != kindNumber {
		e.invalid(keyword, "a number")
	}
	d, ok := parseDecimal(v.text)
	if !ok {
		e.refuse(e.at, keyword, "the number has more than %d digits", maxDigits)
	}
	return d, true
}

// list returns the schemas of a keyword that holds several.
func (e *evaluation) list(keyword string) []expr {
	v := e.get(keyword)
	if v == nil {
		return nil
	}
	if v.kind != kindArray || len(v.items) == 0 {
		e.invalid(keyword, "a list of schemas that is not empty")
	}
	out := make([]expr, len(v.items))
	for i, s := range v.items {
		out[i] = e.sub(s)
	}
	return out
}

// object returns the members of a keyword that maps names.
func (e *evaluation) object(keyword string) *value {
	v := e.get(keyword)
	if v != nil && v.kind != kindObject {
		e.invalid(keyword, "an object")
	}
	return v
}

// optional returns the schema of a keyword, everything where it is absent.
func (e *evaluation) optional(keyword string) expr {
	if v := e.get(keyword); v != nil {
		return e.sub(v)
	}
	return everything
}
