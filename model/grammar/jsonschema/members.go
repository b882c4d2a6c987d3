package jsonschema

import (
	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// Member is a property of the outermost object, where that object is not written as JSON.
type Member struct {
	Name    string
	Further bool       // it stands for every property of Names, and has no name of its own
	Names   regex.Term // its name, or the names that it may have, as they are
	// Text is the strings that its value may be, as they are; [regex.Nothing] where it is none.
	Text regex.Term
	// Other is the value in JSON where it is no string, and Value where it is any that the
	// schema allows. One that HasOther denies has no text.
	Other, Value func() cfg.Symbol
	HasOther     bool
	Any          bool // the schema allows every value
	AnyText      bool // it allows every string
}

// Members says how a format writes the outermost object.
type Members struct {
	Separator cfg.Symbol // a terminal, between two members
	// Write returns the symbols of a member, which are not empty together; nil if the format
	// cannot write its name.
	Write func(Member) []cfg.Symbol
}

// CompileMembers is [Compile] for a format that writes the members of the outermost object in its
// own way, and what is in them as JSON. Of the values that fulfil the schema it takes the objects.
// The symbol is one member or more; none says that there may also be no member.
//
// Strings among the members themselves are described as they are, so what a schema says of
// a string holds of the text that the format writes for it.
func CompileMembers(b *cfg.Builder, schema []byte, m Members, options Options) (members cfg.Symbol, none bool, omissions []Omission, err error) {
	omissions, err = compile(b, schema, options, func(c *compiler, root *value) {
		members, none = c.members(root, m)
	})
	return members, none, omissions, err
}

// members lowers the outermost object.
func (c *compiler) members(root *value, m Members) (members cfg.Symbol, none bool) {
	// The same schema twice: here texts are as they are, in values they are JSON.
	plain := newCompiler(c.b, root, c.options, c.limits, c.left)
	plain.leftOut, plain.docs, plain.scopes = c.leftOut, c.docs, c.scopes
	plain.speller = newSpeller(c.set, asIs)
	plain.comma = m.Separator
	w := &memberWriter{plain: plain, values: c, write: m.Write, carried: map[expr]expr{}}
	all := c.anyShape()
	all.texts = regex.Nothing
	w.noText = c.typed(all)

	plain.options.Objects = true
	x := plain.root(root)
	members = c.b.Nonterminal("members")
	objects := plain.shape(x).objects
	plain.here = plain.origin(x)
	for _, o := range objects {
		none = plain.lowerMembers(members, plain.listed(o), w) || none
	}
	c.drain()
	plain.mustHold(x)
	return members, none
}

// lowerMembers adds the members of o to symbol, and reports whether there may be none.
func (c *compiler) lowerMembers(symbol cfg.Symbol, o *objectCase, w *memberWriter) (none bool) {
	if o.ordered {
		list := c.sequence(o, w.entry)
		if len(list) == 0 {
			return true
		}
		c.b.Add(symbol, list...)
		return false
	}
	bag, required := c.bag(o, w.entry)
	none = required == 0 && bag.Min == 0 && len(o.some) == 0
	if required == 0 {
		bag.Min = max(bag.Min, 1)
	}
	if len(bag.Entries) > 0 && bag.Max != 0 {
		c.b.Add(symbol, c.b.Bag("members", bag))
	}
	return none
}

// memberWriter writes members: their names and strings as they are in plain, other values as in
// values.
type memberWriter struct {
	plain, values *compiler
	write         func(Member) []cfg.Symbol
	noText        expr // of values
	carried       map[expr]expr
}

func (w *memberWriter) entry(e entry) []cfg.Symbol {
	value := w.carry(e.value)
	other := w.values.and(value, w.noText)
	m := Member{Name: e.name, Further: e.further, Names: e.keys, Text: w.plain.shape(e.value).texts, Any: value == everything,
		AnyText: w.plain.shape(e.value).texts == w.plain.speller.free,
		Value:   func() cfg.Symbol { return w.values.symbol(value) }, Other: func() cfg.Symbol { return w.values.symbol(other) }, HasOther: !w.values.provedEmpty(other)}
	symbols := w.write(m)
	if len(symbols) == 0 && e.required {
		w.plain.refuseHere("required", "the format of the calls cannot write the name %q", e.name)
	}
	return symbols
}

// carry returns the set of values that x of plain is.
func (w *memberWriter) carry(x expr) expr {
	if y, ok := w.carried[x]; ok {
		return y
	}
	var y expr
	n, c := w.plain.nodes[x], w.values
	subs := make([]expr, len(n.subs))
	for i, sub := range n.subs {
		subs[i] = w.carry(sub)
	}
	switch n.op {
	case opSchema:
		key := schemaKey{n.at, n.scope}
		known, ok := c.schemas[key]
		if y = known; !ok {
			y = c.push(exprNode{op: opSchema, at: n.at, scope: n.scope})
			c.schemas[key] = y
		}
	case opValue:
		y = c.value(n.at)
	case opTyped:
		y = c.typed(&shape{objects: []*objectCase{c.anyObject()}}) // there is no other one in plain
	case opAnd:
		y = c.and(subs...)
	case opOr:
		y = c.or(subs...)
	case opNot:
		y = c.not(subs[0])
	default:
		y = x
	}
	w.carried[x] = y
	return y
}
