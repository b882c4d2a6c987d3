package jinja

import "unicode/utf8"

// Template values are Go values: nil (None), bool, int64, longInt, float64,
// string, *List, *Tuple, *Dict, *Undefined, *Namespace, *Function and the views
// and macros of the package.

// List is a Python list. Templates cannot change it.
type List struct{ items []any }

// Items returns the elements, shared with the list: read only.
func (l *List) Items() []any { return l.items }

// Tuple is a Python tuple.
type Tuple struct{ items []any }

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

func (u *Undefined) fail() error {
	kind := u.kind
	if kind == "" {
		kind = UndefinedError
	}
	return &Error{Kind: kind, Msg: u.message()}
}

// Namespace is the one value whose fields a template can set.
type Namespace struct{ fields *Dict }

// view is what dict.keys(), values() and items() return.
type view struct {
	d    *Dict
	what string // "keys", "values" or "items"
}

func (v *view) items() []any {
	switch v.what {
	case "keys":
		return v.d.keys
	case "values":
		return v.d.vals
	}
	out := make([]any, len(v.d.keys))
	for i := range out {
		out[i] = &Tuple{[]any{v.d.keys[i], v.d.vals[i]}}
	}
	return out
}

// viewItems is v.items(), charged for.
func (rt *runtime) viewItems(v *view) ([]any, error) {
	each := 1
	if v.what == "items" {
		each = 6 // a tuple of its own
	}
	if err := rt.work(each * len(v.d.keys)); err != nil {
		return nil, err
	}
	return v.items(), nil
}

// iterator can be walked once, like a Python generator.
type iterator struct{ rest []any }

// typeName is Python's name of a value's type.
func typeName(v any) string {
	switch x := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, longInt:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *Undefined:
		return "Undefined"
	case *Namespace:
		return "Namespace"
	case *view:
		return "dict_" + x.what
	case *iterator:
		return "generator"
	case *Macro:
		return "Macro"
	case *loop:
		return "LoopContext"
	case *sliceKey:
		return "slice"
	}
	return "function"
}

// truth is Python's bool(v).
func truth(v any) bool {
	switch x := v.(type) {
	case nil, *Undefined:
		return false
	case bool:
		return x
	case int64:
		return x != 0
	case float64:
		return x != 0
	case string: // counting its characters would read all of it
		return x != ""
	}
	if n, ok := length(v); ok {
		return n > 0
	}
	return true
}

// length is Python's len(v); false where v has none. For texts use rt.length,
// which charges.
func length(v any) (int, bool) {
	switch x := v.(type) {
	case string:
		return utf8.RuneCountInString(x), true
	case *List:
		return len(x.items), true
	case *Tuple:
		return len(x.items), true
	case *Dict:
		return len(x.keys), true
	case *view:
		return len(x.d.keys), true
	case *Undefined:
		return 0, true
	case *loop:
		return len(x.items), true
	}
	return 0, false
}

// length is len(v), charged for where it reads a text.
func (rt *runtime) length(v any) (int, bool, error) {
	if s, ok := v.(string); ok {
		if err := rt.text(len(s)); err != nil {
			return 0, false, err
		}
	}
	n, ok := length(v)
	return n, ok, nil
}

// iterate returns the elements that a loop over v sees. The slice is shared
// with v and must not be changed.
func (rt *runtime) iterate(v any) ([]any, error) {
	var out []any
	switch x := v.(type) {
	case *List:
		out = x.items
	case *Tuple:
		out = x.items
	case *Dict:
		out = x.keys
	case *view:
		return rt.viewItems(x)
	case *iterator:
		out, x.rest = x.rest, nil
	case string:
		return rt.chars(x)
	case *Undefined:
	default:
		return nil, typeErr("'%s' object is not iterable", typeName(v))
	}
	return out, rt.work(len(out))
}

func (rt *runtime) chars(s string) ([]any, error) {
	if err := rt.text(len(s)); err != nil {
		return nil, err
	}
	// Each takes a slot and a text of its own.
	n := utf8.RuneCountInString(s)
	if err := rt.work(4 * n); err != nil {
		return nil, err
	}
	out := make([]any, 0, n)
	for _, r := range s {
		out = append(out, string(r))
	}
	return out, nil
}
