package jsonschema

import (
	"encoding/binary"
	"slices"
)

// expr names a set of JSON values: a schema, or a boolean combination of sets.
// Equal combinations have the same name, so a schema that refers to itself
// leads to finitely many, and what is known of one is kept by name.
type expr int32

const (
	everything expr = 0
	nothing    expr = 1
)

type exprOp uint8

const (
	opEverything exprOp = iota
	opNothing
	opSchema // at, read in scope
	opValue  // at alone
	opTyped  // the values of shape
	opAnd    // subs
	opOr     // subs
	opNot    // subs[0]
)

type exprNode struct {
	op    exprOp
	at    *value
	scope scope
	subs  []expr
	shape *shape // nil: not known yet
	busy  bool   // shape is being found out
	empty emptiness
}

type schemaKey struct {
	at    *value
	scope scope
}

// exprs interns expressions.
type exprs struct {
	nodes   []exprNode
	schemas map[schemaKey]expr
	values  map[*value]expr
	lists   map[string]expr
}

func newExprs() exprs {
	return exprs{
		nodes:   []exprNode{{op: opEverything}, {op: opNothing}},
		schemas: map[schemaKey]expr{},
		values:  map[*value]expr{},
		lists:   map[string]expr{},
	}
}

func (e *exprs) push(n exprNode) expr {
	e.nodes = append(e.nodes, n)
	return expr(len(e.nodes) - 1)
}

// value returns the set of v alone.
func (e *exprs) value(v *value) expr {
	x, ok := e.values[v]
	if !ok {
		x = e.push(exprNode{op: opValue, at: v})
		e.values[v] = x
	}
	return x
}

func (e *exprs) not(x expr) expr {
	switch {
	case x == everything:
		return nothing
	case x == nothing:
		return everything
	case e.nodes[x].op == opNot:
		return e.nodes[x].subs[0]
	}
	return e.list(opNot, []expr{x})
}

func (e *exprs) and(list ...expr) expr { return e.combine(opAnd, list, everything, nothing) }

func (e *exprs) or(list ...expr) expr { return e.combine(opOr, list, nothing, everything) }

// combine joins list. neutral changes nothing, final decides alone.
func (e *exprs) combine(op exprOp, list []expr, neutral, final expr) expr {
	flat := make([]expr, 0, len(list))
	add := func(x expr) {
		if x != neutral && !slices.Contains(flat, x) {
			flat = append(flat, x)
		}
	}
	for _, x := range list {
		if e.nodes[x].op == op {
			for _, sub := range e.nodes[x].subs {
				add(sub)
			}
		} else {
			add(x)
		}
	}
	for _, x := range flat {
		if x == final || e.nodes[x].op == opNot && slices.Contains(flat, e.nodes[x].subs[0]) {
			return final
		}
	}
	switch len(flat) {
	case 0:
		return neutral
	case 1:
		return flat[0]
	}
	return e.list(op, flat)
}

// list interns an operation. Operands in another order are the same; the first
// order is kept, as it is that of the schema.
func (e *exprs) list(op exprOp, subs []expr) expr {
	sorted := slices.Clone(subs)
	slices.Sort(sorted)
	key := []byte{byte(op)}
	for _, x := range sorted {
		key = binary.AppendUvarint(key, uint64(x))
	}
	x, ok := e.lists[string(key)]
	if !ok {
		x = e.push(exprNode{op: op, subs: subs})
		e.lists[string(key)] = x
	}
	return x
}
