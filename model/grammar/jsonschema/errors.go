package jsonschema

import "fmt"

// Error is why a schema is refused, and where.
type Error struct {
	Pointer string // JSON pointer into the schema, "" for its root; of a remote document its address and a fragment
	Keyword string // the keyword that cannot be kept, "" where none is to blame
	Reason  string
}

// Error implements error.
func (e *Error) Error() string {
	at := e.Pointer
	if at == "" {
		at = "the root"
	}
	if e.Keyword == "" {
		return fmt.Sprintf("%s (at %s)", e.Reason, at)
	}
	return fmt.Sprintf("%s: %s (at %s)", e.Keyword, e.Reason, at)
}

// Unsatisfiable reports whether the schema is refused because no value fulfils it.
func (e *Error) Unsatisfiable() bool { return e.Reason == contradiction }

// place is a keyword of a schema.
type place struct {
	at      *value
	keyword string
}

// refusal carries an *Error out of the recursion of the compiler. Compile
// recovers it; nothing else panics with it or sees it.
type refusal struct {
	err  *Error
	omit place // what a compilation that is not strict may leave out; zero: nothing
}

// refuse ends the compilation: keyword of the schema at v cannot be kept.
func (c *compiler) refuse(v *value, keyword, format string, args ...any) {
	panic(refusal{&Error{c.pointer(v), keyword, fmt.Sprintf(format, args...)}, place{v, keyword}})
}

// refuseHere is refuse for the schema under evaluation.
func (c *compiler) refuseHere(keyword, format string, args ...any) {
	c.refuse(c.here, keyword, format, args...)
}

// pointer returns where v stands, for errors.
func (c *compiler) pointer(v *value) string {
	if v == nil {
		return ""
	}
	root := v
	for root.parent != nil {
		root = root.parent
	}
	if address, remote := c.docs.address[root]; remote {
		return address + "#" + v.pointer()
	}
	return v.pointer()
}

// work counts a step of work, and ends a compilation that takes too many.
func (c *compiler) work(steps int) {
	if *c.left -= steps; *c.left < 0 {
		c.exhausted(fmt.Sprintf("the schema takes more than %d steps to compile; its alternatives multiply", c.limits.Work))
	}
	if err := c.set.Err(); err != nil {
		c.exhausted(err.Error())
	}
}

// exhausted ends the compilation for good: leaving out a keyword is no remedy.
func (c *compiler) exhausted(reason string) {
	panic(refusal{err: &Error{c.pointer(c.here), c.keyword, reason}})
}
