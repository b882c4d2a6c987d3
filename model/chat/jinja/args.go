package jinja

import "slices"

// args are the arguments of one call. After bind, pos has one per parameter,
// absent where none was given, and kw is empty.
type args struct {
	pos []any
	kw  []named
}

// absent marks a parameter that was not given.
type absentType struct{}

var absent any = absentType{}

// bind matches arguments to parameters as Python does.
func (b *builtin) bind(fn string, a args) args {
	params := b.params
	if len(a.pos) > len(params) {
		panic(typeErr("%s() takes at most %d arguments (%d given)", fn, len(params), len(a.pos)))
	}
	out := make([]any, len(params))
	for i := copy(out, a.pos); i < len(params); i++ {
		out[i] = absent
	}
	for _, k := range a.kw {
		i := slices.Index(params, k.name)
		switch {
		case i < 0:
			panic(typeErr("%s() got an unexpected keyword argument '%s'", fn, k.name))
		case out[i] != absent:
			panic(typeErr("%s() got multiple values for argument '%s'", fn, k.name))
		}
		out[i] = k.v
	}
	if i := slices.Index(out[:b.required], absent); i >= 0 {
		panic(typeErr("%s() missing required argument '%s'", fn, params[i]))
	}
	return args{pos: out}
}

// value is an argument, or what replaces an absent one.
func (a args) value(i int, missing any) any {
	if a.pos[i] == absent {
		return missing
	}
	return a.pos[i]
}

func (a args) bool(i int) bool        { return truth(a.value(i, false)) }
func (a args) int(i, missing int) int { return needInt(a.value(i, int64(missing))) }
func (a args) str(i int) string       { return needStr(a.pos[i]) }

// needDefined returns v and refuses undefined values.
func needDefined(v any) any {
	if u, ok := v.(*Undefined); ok {
		panic(u.failure())
	}
	return v
}

// needInt reads a number that a builtin counts with.
func needInt(v any) int {
	i := clampInt(v)
	if i > 1<<31 || i < -1<<31 {
		panic(newErr(OverflowError, "integer %s is too large for this operation", plain(v)))
	}
	return i
}

func needStr(v any) string {
	s, ok := needDefined(v).(string)
	if !ok {
		panic(typeErr("expected str, got %s", typeName(v)))
	}
	return s
}
