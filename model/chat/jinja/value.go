package jinja

import (
	"cmp"
	"reflect"
	"unicode/utf8"
)

// Template values are Go values: nil (None), bool, int64, longInt, float64, string,
// *List, *Dict, *Undefined, *Namespace, *Function, and the package's views and macros.

func is[T any](v any) bool { _, ok := v.(T); return ok }

// List is a Python list, or a tuple. Templates cannot change it.
type List struct {
	items []any
	tuple bool
}

// Items returns the elements, shared with the list: read only.
func (l *List) Items() []any { return l.items }

// with is a list of other elements, a tuple if l is one.
// NewList makes a list, which owns the items from now on.
func NewList(items []any) *List { return newList(items) }

func (l *List) with(items []any) *List { return &List{items, l.tuple} }

func newList(items []any) *List   { return &List{items, false} }
func newTuple(items ...any) *List { return &List{items, true} }

// twoLists returns two values that are both lists or both tuples.
func twoLists(l, r any) (a, b *List, ok bool) {
	a, aList := l.(*List)
	b, bList := r.(*List)
	return a, b, aList && bList && a.tuple == b.tuple
}

// Undefined is a variable, attribute or element that does not exist. It prints
// as nothing, is empty and false, and fails when used otherwise.
type Undefined struct {
	obj  any  // where it was looked for, if of is set
	of   bool // a member of obj, not a variable
	name any  // string or index
	hint string
	kind string // kind of the error on use; "" = UndefinedError
}

func (u *Undefined) message() string {
	switch {
	case u.hint != "":
		return u.hint
	case !u.of:
		return "'" + plain(u.name) + "' is undefined"
	}
	repr := typeName(u.obj) + " object"
	if u.obj == nil {
		repr = "None"
	}
	if s, ok := u.name.(string); ok {
		return "'" + repr + "' has no attribute '" + s + "'"
	}
	return repr + " has no element " + plain(u.name)
}

func (u *Undefined) failure() *Error {
	return newErr(cmp.Or(u.kind, UndefinedError), "%s", u.message())
}

func isUndefined(v any) bool { return is[*Undefined](v) }

// Namespace is the one value whose fields a template can set.
type Namespace struct{ fields *Dict }

// view is the result of dict.keys(), values() and items().
type view struct {
	what  string // "keys", "values" or "items"
	items []any
}

func (rt *runtime) pairs(d *Dict) []any {
	rt.work(6 * len(d.keys))
	out := make([]any, len(d.keys))
	for i, k := range d.keys {
		out[i] = newTuple(k, d.vals[i])
	}
	return out
}

// iterator can be walked once, like a Python generator.
type iterator struct{ rest []any }

var typeNames = map[reflect.Type]string{
	nil:                           "NoneType",
	reflect.TypeFor[bool]():       "bool",
	reflect.TypeFor[int64]():      "int",
	reflect.TypeFor[longInt]():    "int",
	reflect.TypeFor[float64]():    "float",
	reflect.TypeFor[string]():     "str",
	reflect.TypeFor[*List]():      "list",
	reflect.TypeFor[*Dict]():      "dict",
	reflect.TypeFor[*Undefined](): "Undefined",
	reflect.TypeFor[*Namespace](): "Namespace",
	reflect.TypeFor[*iterator]():  "generator",
	reflect.TypeFor[*Macro]():     "Macro",
	reflect.TypeFor[*loop]():      "LoopContext",
}

// typeName is Python's name of a value's type.
func typeName(v any) string {
	switch x := v.(type) {
	case *view:
		return "dict_" + x.what
	case *List:
		if x.tuple {
			return "tuple"
		}
	}
	return cmp.Or(typeNames[reflect.TypeOf(v)], "function")
}

// truth is Python's bool(v).
func truth(v any) bool {
	switch x := v.(type) {
	case nil, *Undefined:
		return false
	case bool:
		return x
	case int64, float64:
		return toFloat(x) != 0
	case string: // length would read all of it
		return x != ""
	}
	n, ok := length(v)
	return !ok || n > 0
}

// length is Python's len(v); false if v has none. Texts use rt.length, which charges.
func length(v any) (int, bool) {
	switch x := v.(type) {
	case string:
		return utf8.RuneCountInString(x), true
	case *List:
		return len(x.items), true
	case *Dict:
		return len(x.keys), true
	case *view:
		return len(x.items), true
	case *Undefined:
		return 0, true
	case *loop:
		return len(x.items), true
	}
	return 0, false
}

// length is len(v), charged for where it reads a text.
func (rt *runtime) length(v any) (int, bool) {
	if s, ok := v.(string); ok {
		rt.text(len(s))
	}
	return length(v)
}

// iterate returns the elements that a loop over v sees. The slice is shared
// with v and must not be changed.
func (rt *runtime) iterate(v any) []any {
	var out []any
	switch x := v.(type) {
	case *List:
		out = x.items
	case *Dict:
		out = x.keys
	case *view:
		out = x.items
	case *iterator:
		out, x.rest = x.rest, nil
	case string:
		rt.text(len(x))
		n := utf8.RuneCountInString(x)
		rt.work(4 * n) // each takes a slot and a text of its own
		out = make([]any, 0, n)
		for _, r := range x {
			out = append(out, string(r))
		}
		return out
	case *Undefined:
	default:
		panic(typeErr("'%s' object is not iterable", typeName(v)))
	}
	rt.work(len(out))
	return out
}
