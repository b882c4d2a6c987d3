package jsonread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var wide = Limits{Values: 1 << 20, Depth: 500, Digits: 4300}

// read walks an object and lists its members as key=value.
func read(text string, limits Limits, skims ...string) (string, *Error) {
	var all []string
	err := Object(context.Background(), []byte(text), limits, nil,
		func(key string) (Way, error) {
			if slices.Contains(skims, key) {
				return Skim, nil
			}
			return Check, nil
		},
		func(m Member) error { all = append(all, m.Key+"="+string(m.Value)); return nil })
	var e *Error
	if err != nil && !errors.As(err, &e) {
		panic(err)
	}
	return strings.Join(all, "|"), e
}

func TestMembers(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                   "",
		" \n{ } \t":                            "",
		`{"a": 1}`:                             "a=1",
		"\n{ \"a\" : [1 , {}] ,\n\"b\":\"x\"}": `a=[1 , {}]|b="x"`,
		`{"\u0061": null, "A": true}`:          "a=null|A=true",
		`{"a": "\ud800"}`:                      `a="\ud800"`,
		`{"a": 1e999, "b": -0.5E+3}`:           "a=1e999|b=-0.5E+3",
	} {
		if got, err := read(text, wide); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestBrokenTexts(t *testing.T) {
	for text, want := range map[string]Error{
		"":                     {Kind: Cut},
		"  ":                   {Kind: Cut, Offset: 2},
		`{"a": `:               {Kind: Cut, Offset: 6},
		`{"a": "x`:             {Kind: Cut, Offset: 8},
		`{"a": [1, {"b": tru`:  {Kind: Cut, Offset: 19},
		`{"a": }`:              {Kind: Syntax, Offset: 6},
		`{"a" 1}`:              {Kind: Syntax, Offset: 5},
		`{a: 1}`:               {Kind: Syntax, Offset: 1},
		`{1: 1}`:               {Kind: Syntax, Offset: 1},
		`{"a": 1,}`:            {Kind: Syntax, Offset: 7},
		`{"a": [1,]}`:          {Kind: Syntax, Offset: 8},
		`{"a": 01}`:            {Kind: Syntax, Offset: 7},
		"{\"a\": \"\n\"}":      {Kind: Syntax, Offset: 7},
		`{"a": "\x"}`:          {Kind: Syntax, Offset: 7},
		"{\"a\": \"\xff\"}":    {Kind: NotUTF8, Offset: 7},
		`[1]`:                  {Kind: NotObject, Found: "["},
		`null`:                 {Kind: NotObject, Found: "n"},
		`"x"`:                  {Kind: NotObject, Found: `"`},
		`-3`:                   {Kind: NotObject, Found: "0"},
		`{} {}`:                {Kind: More, Offset: 3},
		`{}x`:                  {Kind: More, Offset: 2},
		`{"a":1,"b":2,"a":3}`:  {Kind: Repeated, Offset: 16, Path: "a"},
		`{"a":1,"\u0061":3}`:   {Kind: Repeated, Offset: 15, Path: "a"},
		`{"s":{"n":1,"n":2}}`:  {Kind: Repeated, Offset: 15, Path: "s.n"},
		`{"a":[0,{"c":1,"c"`:   {Kind: Repeated, Offset: 18, Path: "a[1].c"},
		`{"a":[[],[[{"c":1,"c`: {Kind: Cut, Offset: 20},
	} {
		_, err := read(text, wide)
		if err == nil {
			t.Errorf("%q is taken", text)
		} else if err.Kind != want.Kind || err.Offset != want.Offset || err.Path != want.Path || want.Found != "" && err.Found != want.Found {
			t.Errorf("%q: %+v, want %+v", text, *err, want)
		}
	}
}

// Each limit, at it and one beyond.
func TestLimits(t *testing.T) {
	limits := Limits{Values: 5, Depth: 3, Digits: 4}
	deep := `{"skimmed":` + strings.Repeat("[", 100_000)
	for text, want := range map[string]Kind{
		`{"a":1,"b":2}`:             0, // two keys, two values
		`{"a":[1,2,3]}`:             0,
		`{"a":[1,2,3,4]}`:           TooMany,
		`{"a":{"b":{}}}`:            0,
		`{"a":[{},{},{},{}]}`:       TooMany,
		`{"a":1,"b":2,"c":3}`:       TooMany,
		`{"a":[[[]]]}`:              0,
		`{"a":[[[[`:                 TooDeep,
		`{"a":1234}`:                0,
		`{"a":12345}`:               LongNumber,
		`{"a":-123}`:                0,
		`{"a":1e-99}`:               LongNumber,
		`{"a":"123456"}`:            0,
		`{"skimmed":[1,2,3,4,5,6]}`: 0,
		`{"skimmed":123456}`:        0,
		deep:                        TooDeep,
		`{"skimmed":[1,,2]}`:        Syntax,
	} {
		_, err := read(text, limits, "skimmed")
		if got := kindOf(err); got != want {
			t.Errorf("%s: kind %d, want %d", text, got, want)
		}
	}
}

func kindOf(e *Error) Kind {
	if e == nil {
		return 0
	}
	return e.Kind
}

// A refusal comes before anything after it is read.
func TestTheFirstErrorEndsTheWalk(t *testing.T) {
	stop, seen := errors.New("stop"), 0
	err := Object(t.Context(), []byte(`{"a": 1, "b": 2, broken`), wide, nil, nil, func(m Member) error {
		if seen++; m.Key == "b" {
			return stop
		}
		return nil
	})
	if err != stop || seen != 2 {
		t.Errorf("%v after %d members", err, seen)
	}
	err = Object(t.Context(), []byte(`{"a": broken`), wide, nil, func(string) (Way, error) { return Check, stop }, nil)
	if err != stop {
		t.Errorf("%v, want the error of way", err)
	}
}

func TestAWalkEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	text := `{"a": [` + strings.Repeat("0,", 2*checkEvery) + `0]}`
	if err := Object(ctx, []byte(text), wide, nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// An object with more keys than are compared one by one.
func TestRepeatedAmongManyKeys(t *testing.T) {
	for _, n := range []int{fewKeys - 1, fewKeys, fewKeys + 1, 10 * fewKeys} {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf(`"%d": 0`, i))
		}
		object := func(keys []string) string { return `{"bias": {` + strings.Join(keys, ",") + `}}` }
		if _, err := read(object(keys), wide); err != nil {
			t.Errorf("%d keys: %v", n, err)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			if _, err := read(object(append(keys, keys[i])), wide); err == nil || err.Path != fmt.Sprintf("bias.%d", i) {
				t.Errorf("key %d of %d twice: %v", i, n, err)
			}
		}
	}
}

func TestPathsStayShort(t *testing.T) {
	key := `"` + strings.Repeat("é", 1000) + `":`
	_, err := read("{"+strings.Repeat(key+"{", 600), wide)
	if err == nil || err.Kind != TooDeep || len(err.Path) > maxPath+maxPathKey+2 {
		t.Errorf("%+v", err)
	}
}

func TestElements(t *testing.T) {
	var all []string
	list := func(text string) bool {
		all = nil
		isArray, err := Elements([]byte(text), func(i int, v []byte) error {
			all = append(all, fmt.Sprint(i, "=", string(v)))
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return isArray
	}
	if !list(`[1, "a,b" ,{"c": [2]}]`) || strings.Join(all, "|") != `0=1|1="a,b"|2={"c": [2]}` {
		t.Errorf("%q", all)
	}
	if !list(`[ ]`) || len(all) != 0 || list(`{"a": 1}`) || list(`3`) {
		t.Error("what is an array")
	}
	stop := errors.New("stop")
	if _, err := Elements([]byte(`[1, 2, 3]`), func(i int, _ []byte) error {
		if i > 1 {
			t.Error("it goes on")
		}
		return map[int]error{1: stop}[i]
	}); err != stop {
		t.Errorf("%v", err)
	}
}

// Texts equal encoding/json's.
func TestTextAgainstTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "🙂", `\n`, `\"`, `\\`, `\u0000`, `\ud83d\ude42`, `\ud800`, `\udc00x`, "\u2028"})).Draw(t, "parts")
		quoted := `"` + strings.Join(parts, "") + `"`
		var want string
		if err := json.Unmarshal([]byte(quoted), &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := Text([]byte(quoted)); !ok || got != want {
			t.Fatalf("%s: %q, want %q", quoted, got, want)
		}
	})
	for _, other := range []string{"", `"`, "null", "3", "[]", "{}"} {
		if got, ok := Text([]byte(other)); ok {
			t.Errorf("%q is the text %q", other, got)
		}
	}
}

// It accepts what encoding/json accepts, except for repeated keys.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{"a": [1, {"b": "\ud800"}], "c": -1.5e3}`, `{"a":1,"a":2}`, "{\"\xff\":0}", `{} {}`, `{"a":tru}`, `[{}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want map[string]json.RawMessage
		standard := json.Unmarshal(text, &want)
		got := map[string]string{}
		err := Object(t.Context(), text, wide, nil, nil, func(m Member) error { got[m.Key] = string(m.Value); return nil })
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%v", err)
		}
		switch {
		case e != nil && (e.Kind == Repeated || e.Kind == NotUTF8 || e.Kind == NotObject || e.Kind == TooDeep || e.Kind == LongNumber):
			return
		case (standard == nil) != (e == nil):
			t.Fatalf("%q: %v, encoding/json says %v", text, e, standard)
		}
		if e != nil {
			return
		}
		for key, value := range want {
			if got[key] != string(value) {
				t.Fatalf("%q: %q is %q, want %q", text, key, got[key], value)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %d members, want %d", text, len(got), len(want))
		}
	})
}
