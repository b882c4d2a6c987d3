package jinja

import "strings"

// builtin is a filter, a test, a method or a global function. call gets the
// value on its left (nil for a global function) and its arguments.
type builtin struct {
	params   []string
	required int  // the first params, which must be given
	variadic bool // it takes any arguments as they are written
	call     builtinFunc
}

type builtinFunc func(rt *runtime, v any, a args) any

// builtins are filters, "v | name(args)", and tests, "v is name(args)", by name.
var builtins = map[string]map[string]*builtin{}

// define makes a builtin. params are the names of its parameters, separated by
// blanks, "?" after those that may be left out. "*" takes any arguments.
func define(params string, call builtinFunc) *builtin {
	names := strings.Fields(strings.ReplaceAll(params, "?", ""))
	return &builtin{names, len(names) - strings.Count(params, "?"), params == "*", call}
}

func (rt *runtime) builtin(kind, name string, v any, a args) any {
	f := builtins[kind][name]
	if f == nil {
		panic(newErr(RuntimeError, "%s", noSuch(kind, name)))
	}
	return f.apply(rt, name, v, a)
}

func (b *builtin) apply(rt *runtime, name string, v any, a args) any {
	if !b.variadic {
		a = b.bind(name, a)
	}
	return b.call(rt, v, a)
}

// Function is a value that templates can call: a global function, a method with
// its receiver, or a function of the caller.
type Function struct {
	name string
	of   *builtin
	recv any
}

// NewFunction makes a Go function callable. params are as in define. text returns a value
// as a template prints it. The errors of f reach the caller of RenderMarked through errors.As.
func NewFunction(name, params string, f func(args []any, text func(any) string) (any, error)) *Function {
	return &Function{name: name, of: define(params, func(rt *runtime, _ any, a args) any {
		for _, v := range a.pos {
			if s, ok := v.(string); ok {
				rt.work(2 * len(s)) // what f may do for each byte
			}
		}
		v, err := f(a.pos, rt.str)
		if err != nil {
			panic(&Error{Kind: RuntimeError, Msg: err.Error(), Err: err})
		}
		if s, ok := v.(string); ok {
			rt.text(len(s))
		}
		return v
	})}
}

// textFunc is a filter or method of a text.
type textFunc func(rt *runtime, s string, a args) any

// ofText makes a builtin from a function over the value's text, charged for reading it.
func ofText(params string, f textFunc) *builtin {
	return define(params, func(rt *runtime, v any, a args) any {
		s := rt.str(v)
		rt.text(len(s))
		return f(rt, s, a)
	})
}

// mapsText makes a builtin that rewrites characters one by one.
func mapsText(f func(s string) string) *builtin {
	return ofText("", func(_ *runtime, s string, _ args) any { return f(s) })
}

// testsText makes a builtin that tests the characters.
func testsText(f func(s string) bool) *builtin {
	return ofText("", func(rt *runtime, s string, _ args) any { return f(rt.bare(s)) })
}

// unsupported are names of Jinja and Python that no known chat template uses, for errors.
var unsupported = map[string]string{
	"filter": " abs attr batch center e escape filesizeformat float forceescape format groupby max min pprint random round" +
		" slice striptags sum truncate urlencode urlize wordcount wordwrap xmlattr ",
	"test":     " escaped filter sameas test divisibleby ",
	"function": " cycler joiner lipsum ",
	"method": " casefold center copy count encode expandtabs format_map index isdecimal isidentifier isnumeric isprintable istitle" +
		" ljust maketrans rindex rjust swapcase translate zfill as_integer_ratio is_integer ",
	"variable": " varargs kwargs ",
	"loop":     " cycle changed depth depth0 ",
}

func isUnsupported(kind, name string) bool {
	return strings.Contains(unsupported[kind], " "+name+" ")
}

// noSuch is the message about a filter, test, … that does not exist.
func noSuch(kind, name string) string {
	if isUnsupported(kind, name) {
		return kind + " '" + name + "' is not supported in chat templates"
	}
	return "no " + kind + " named '" + name + "'"
}
