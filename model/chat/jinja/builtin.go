package jinja

import "strings"

// builtin is a filter, a test, a method or a global function. It gets the value
// on its left, nil for a global function, and its arguments.
type builtin struct {
	params   []param
	variadic bool // it takes any arguments as they are written
	call     func(rt *runtime, v any, a args) (any, error)
}

type param struct {
	name     string
	optional bool
}

// define makes a builtin. params are the names of its parameters, separated by
// blanks, "?" after those that may be left out. "*" takes any arguments.
func define(params string, call func(rt *runtime, v any, a args) (any, error)) *builtin {
	if params == "*" {
		return &builtin{variadic: true, call: call}
	}
	b := &builtin{call: call}
	for _, p := range strings.Fields(params) {
		name, optional := strings.CutSuffix(p, "?")
		b.params = append(b.params, param{name, optional})
	}
	return b
}

// apply binds the arguments and calls the builtin.
func (b *builtin) apply(rt *runtime, name string, v any, a *arguments) (any, error) {
	if b.variadic {
		return b.call(rt, v, args{all: a})
	}
	bound, err := a.bind(name, b.params)
	if err != nil {
		return nil, err
	}
	return b.call(rt, v, args{bound: bound})
}

// args are the arguments of one call of a builtin.
type args struct {
	bound []any      // by parameter; absent where none was given
	all   *arguments // as written, for a variadic builtin only
}

// absent marks a parameter that was not given.
type absentType struct{}

var absent any = absentType{}

func (a args) given(i int) bool { return a.bound[i] != absent }

// value is an argument, or what replaces an absent one.
func (a args) value(i int, missing any) any {
	if a.given(i) {
		return a.bound[i]
	}
	return missing
}

func (a args) bool(i int) bool { return a.given(i) && truth(a.bound[i]) }

func (a args) int(i, missing int) (int, error) {
	if a.given(i) {
		return asInt(a.bound[i])
	}
	return missing, nil
}

func (a args) str(i int, missing string) (string, error) {
	if a.given(i) {
		return needStr(a.bound[i])
	}
	return missing, nil
}

// asInt reads a number that a builtin counts with.
func asInt(v any) (int, error) {
	switch n := v.(type) {
	case bool, int64:
		i, _ := toInt64(n)
		if i > 1<<31 || i < -1<<31 {
			return 0, newErr(OverflowError, "integer %d is too large here", i)
		}
		return int(i), nil
	case *Undefined:
		return 0, n.fail()
	}
	return 0, typeErr("'%s' object cannot be interpreted as an integer", typeName(v))
}

func needStr(v any) (string, error) {
	switch s := v.(type) {
	case string:
		return s, nil
	case *Undefined:
		return "", s.fail()
	}
	return "", typeErr("expected str, got %s", typeName(v))
}

// bind matches arguments to parameters as Python does.
func (a *arguments) bind(fn string, params []param) ([]any, error) {
	if len(a.Pos) > len(params) {
		return nil, typeErr("%s() takes at most %d arguments (%d given)", fn, len(params), len(a.Pos))
	}
	out := make([]any, len(params))
	copy(out, a.Pos)
	for i := len(a.Pos); i < len(params); i++ {
		out[i] = absent
	}
next:
	for _, k := range a.Kw {
		for i, p := range params {
			if p.name != k.Name {
				continue
			}
			if out[i] != absent {
				return nil, typeErr("%s() got multiple values for argument '%s'", fn, k.Name)
			}
			out[i] = k.Value
			continue next
		}
		return nil, typeErr("%s() got an unexpected keyword argument '%s'", fn, k.Name)
	}
	for i, p := range params {
		if out[i] == absent && !p.optional {
			return nil, typeErr("%s() missing required argument '%s'", fn, p.name)
		}
	}
	return out, nil
}

// Function is a value that templates can call: a global function, a method with
// its receiver, or a function of the caller.
type Function struct {
	name string
	of   *builtin
	recv any
}

// NewFunction makes a Go function callable. params are as in define. The
// errors of f reach the caller of Render through errors.As.
func NewFunction(name, params string, f func(args []any) (any, error)) *Function {
	return &Function{name: name, of: define(params, func(_ *runtime, _ any, a args) (any, error) {
		v, err := f(a.bound)
		if err != nil {
			return nil, &Error{Kind: RuntimeError, Msg: err.Error(), Err: err}
		}
		return v, nil
	})}
}

// Text returns the text of a string, number, bool or None as a template prints
// it, for use in a Function.
func Text(v any) string { return plain(v) }

// ofText makes a filter or method from a function over the value's text. It
// charges for reading the text.
func ofText(params string, f func(rt *runtime, s string, a args) (any, error)) *builtin {
	return define(params, func(rt *runtime, v any, a args) (any, error) {
		s, err := rt.str(v)
		if err != nil {
			return nil, err
		}
		if err := rt.text(len(s)); err != nil {
			return nil, err
		}
		return f(rt, s, a)
	})
}

// mapsText makes a builtin that rewrites characters one by one.
func mapsText(f func(s string) string) *builtin {
	return ofText("", func(_ *runtime, s string, _ args) (any, error) { return f(s), nil })
}

// asksText makes a builtin that asks something about the characters.
func asksText(f func(s string) bool) *builtin {
	return ofText("", func(rt *runtime, s string, _ args) (any, error) { return f(rt.bare(s)), nil })
}

// unsupported are names that Jinja and Python have and no chat template is
// known to use. They are refused as such and not as unknown.
var unsupported = map[string]string{
	"filter": " abs attr batch center e escape filesizeformat float forceescape format groupby max min pprint random round" +
		" slice striptags sum truncate urlencode urlize wordcount wordwrap xmlattr ",
	"test":     " escaped filter sameas test divisibleby ",
	"function": " cycler joiner lipsum ",
	"method": " casefold center copy count encode expandtabs format_map index isdecimal isidentifier isnumeric isprintable istitle" +
		" ljust maketrans rindex rjust swapcase translate zfill as_integer_ratio is_integer ",
	"variable": " varargs kwargs ",
}

// noSuch words that there is no filter, test, … of a name.
func noSuch(kind, name string) string {
	if strings.Contains(unsupported[kind], " "+name+" ") {
		return kind + " '" + name + "' is not supported in chat templates"
	}
	return "no " + kind + " named '" + name + "'"
}
