package jsonread

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shown reads {"n": [numbers], "t": [texts], anything: raw} and prints it.
func shown(text string) (string, error) {
	r, err := NewReader([]byte(text))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = r.Object(func(key []byte) error {
		fmt.Fprintf(&b, "%s=", key)
		name := string(key)
		switch {
		case name != "n" && name != "t":
			raw, err := r.Raw()
			fmt.Fprintf(&b, "%s;", raw)
			return err
		}
		return r.Array(func() error {
			if name == "n" {
				n, err := r.Int()
				fmt.Fprintf(&b, "%d,", n)
				return err
			}
			t, err := r.Text()
			fmt.Fprintf(&b, "%s,", t)
			return err
		})
	})
	if err == nil {
		err = r.End()
	}
	return b.String(), err
}

func TestReader(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                     "",
		"\n{ \"n\" : [1 , -2,9007199254740993]}": "n=1,-2,9007199254740993,",
		`{"\u0074":["a","\u00e9\n","\ud800"]}`:   "t=a,é\n,\ufffd,",
		`{"x": {"a": [1, "]"]}, "y":null } `:     `x={"a": [1, "]"]};y=null;`,
		`{"n":[],"n":[1]}`:                       "n=n=1,",
	} {
		if got, err := shown(text); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]Error{
		"":                                 {Kind: Cut},
		"hello":                            {Kind: Syntax},
		"[1]":                              {Kind: Shape, Offset: 1, Found: "an object"},
		`{"n":1}`:                          {Kind: Shape, Offset: 6, Found: "an array"},
		`{"n":[1.5]}`:                      {Kind: Shape, Offset: 6, Found: "a 64-bit integer without a decimal point or exponent"},
		`{"n":[1e3]}`:                      {Kind: Shape, Offset: 6, Found: "a 64-bit integer without a decimal point or exponent"},
		`{"n":["1"]}`:                      {Kind: Shape, Offset: 6, Found: "a 64-bit integer without a decimal point or exponent"},
		`{"n":[92233720368547758080]}`:     {Kind: Shape, Offset: 6, Found: "a 64-bit integer without a decimal point or exponent"},
		`{"t":[null]}`:                     {Kind: Shape, Offset: 6, Found: "a string"},
		`{"t":["a`:                         {Kind: Cut, Offset: 8},
		`{"t":["a" "b"]}`:                  {Kind: Syntax, Offset: 10},
		`{"x":[1,]}`:                       {Kind: Syntax, Offset: 7},
		`{"x":` + strings.Repeat("[", 100): {Kind: TooDeep, Offset: 68},
		"{\"\xff\":1}":                     {Kind: NotUTF8, Offset: 2},
		"{} x":                             {Kind: More, Offset: 3},
	} {
		_, err := shown(text)
		var e *Error
		if !errors.As(err, &e) || e.Kind != want.Kind || e.Offset != want.Offset || want.Found != "" && e.Found != want.Found {
			t.Errorf("%.40s: %+v, want %+v", text, e, want)
		}
	}
}

// pairs is an object for the tests below.
type pairs struct {
	keys   []string
	values []any
}

var plainValues = &Builder{
	Number: func(digits string) any { return "#" + digits },
	Array:  func(elements []any) any { return elements },
	Object: func(keys []string, values []any) any { return pairs{keys, values} },
}

// TestValue: the built value has the text's parts in their order.
func TestValue(t *testing.T) {
	const text = ` {"b": [1, -0.5e3, "x\n\u00e9", true, false, null, []], "a": {}, "c": {"k": {"l": ""}}} `
	want := pairs{[]string{"b", "a", "c"}, []any{
		[]any{"#1", "#-0.5e3", "x\né", true, false, nil, []any(nil)},
		pairs{},
		pairs{[]string{"k"}, []any{pairs{[]string{"l"}, []any{""}}}},
	}}
	got, err := Value(t.Context(), []byte(text), wide, plainValues)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	repeats := wide
	repeats.Repeats = true
	got, err = Value(t.Context(), []byte(`{"a":1,"a":2}`), repeats, plainValues)
	if err != nil || !reflect.DeepEqual(got, pairs{[]string{"a", "a"}, []any{"#1", "#2"}}) {
		t.Errorf("repeated keys: %v, %v", got, err)
	}
	for text, want := range map[string]Kind{
		`{"a":1,"a":2}`: Repeated, `[1,]`: Syntax, `[1`: Cut, `1 2`: More, "\"\xff\"": NotUTF8, `[` + strings.Repeat("1", 5000) + `]`: LongNumber,
	} {
		_, err := Value(t.Context(), []byte(text), wide, plainValues)
		var e *Error
		if !errors.As(err, &e) || e.Kind != want {
			t.Errorf("%.30s: error %v, want kind %d", text, err, want)
		}
	}
}

// TestBuiltMembers: a built member equals what Value makes of it.
func TestBuiltMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawTree(t, 3)
		var b strings.Builder
		v.write(t, &b)
		want, failed := Value(t.Context(), []byte(b.String()), wide, plainValues)
		var got any
		err := Object(t.Context(), []byte(`{"x":`+b.String()+`}`), wide, plainValues,
			func(string) (Way, error) { return Build, nil }, func(m Member) error { got = m.Built; return nil })
		if (err == nil) != (failed == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v, %v; want %v, %v", b.String(), got, err, want, failed)
		}
	})
}
