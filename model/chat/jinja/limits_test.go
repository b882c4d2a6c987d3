package jinja

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/measure"
)

func nest(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// TestHostileSources are refused when parsing: bounded recursion, no panic.
func TestHostileSources(t *testing.T) {
	const n = 100_000
	for name, src := range map[string]string{
		"parentheses": "{{ " + nest("(", "1", ")", n) + " }}",
		"brackets":    "{{ " + nest("[", "", "]", n) + " }}",
		"braces":      "{{ " + nest("{1:", "1", "}", n) + " }}",
		"calls":       "{{ " + nest("f(", "1", ")", n) + " }}",
		"subscripts":  "{{ " + nest("a[", "1", "]", n) + " }}",
		"not":         "{{ " + strings.Repeat("not ", n) + "1 }}",
		"minus":       "{{ " + strings.Repeat("-", n) + "1 }}",
		"else":        "{{ " + strings.Repeat("1 if 1 else ", n/2) + "1 }}",
		"if":          strings.Repeat("{% if 1 %}", n/2),
		"for":         strings.Repeat("{% for i in a %}", n/4),
		"macro":       strings.Repeat("{% macro m() %}", n/4),
		"targets":     "{% set " + nest("(", "a", ")", n) + " = 1 %}",
		"filters":     "{{ a" + nest("|join(a", "", ")", n) + " }}",
		"size":        strings.Repeat("x", maxSource+1),
		"integer":     "{{ " + strings.Repeat("9", n) + " }}",
	} {
		var e *Error
		if _, err := Parse(name, src); !errors.As(err, &e) || e.Kind != LimitError && name != "integer" {
			t.Errorf("%s: error %.200v, want a limit", name, err)
		}
	}
}

// TestHostileRenders end with an error within the step limit.
func TestHostileRenders(t *testing.T) {
	const n = 20_000
	for name, src := range map[string]string{
		"range":            "{% for i in range(1000000000000) %}x{% endfor %}",
		"nested loops":     "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
		"macro recursion":  "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
		"mutual recursion": "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{% if 1 %}{{ a() }}{% endif %}{% endmacro %}{{ a() }}",
		"caller recursion": "{% macro m() %}{% call m() %}x{% endcall %}{% endmacro %}{{ m() }}",
		"text":             "{{ 'a' * 1000000000000 }}",
		"text of huge":     "{{ 'a' * 1000000000000000000000000000000 }}",
		"text doubled":     "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"list":             "{{ [1] * 1000000000000 }}",
		"list doubled":     "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"power loop":       "{% set ns = namespace(n=3) %}{% for i in range(999) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
		"format":           "{{ ('{0}' * 999999).format('a' * 999999) }}",
		"replace":          "{{ ('a' * 999999).replace('a', 'b' * 999999) }}",
		"join":             "{{ (['a' * 99999] * 99999) | join('b' * 99999) }}",
		"indent":           "{{ ('a\n' * 99999) | indent(999999) }}",
		"json indent":      "{{ [[1]] | tojson(indent=1000000000) }}",
		"output":           "{% for i in range(99999) %}{{ 'x' * 9999 }}{% endfor %}",
		"deep value":       "{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
		"deep json":        "{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}",
		"deep equal":       "{% set a = namespace(x=1, y=1) %}{% for i in range(9999) %}{% set a.x = [a.x] %}{% set a.y = [a.y] %}{% endfor %}{{ a.x == a.y }}",
		"deep key":         "{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = (ns.x,) %}{% endfor %}{{ {ns.x: 1} }}",
		"wide json":        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | tojson }}",
		"wide print":       "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
		"wide key":         "{% set ns = namespace(x=(1,)) %}{% for i in range(99) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} }}",
		"self":             "{% set ns = namespace() %}{% set ns.ns = ns %}{{ ns }}",
		"self in list":     "{% set ns = namespace() %}{% set ns.l = [ns] %}{{ ns.l }}",
		"chain":            "{{ 1" + strings.Repeat(" + 1", n) + " }}",
		"filter chain":     "{{ 1" + strings.Repeat("|string", n) + " }}",
		"block filters":    "{% filter string" + strings.Repeat("|string", n) + " %}{% endfilter %}",
		"attributes":       "{{ a" + strings.Repeat(".a", n) + " }}",
	} {
		start := measure.CPUTime() // this process may be stopped for any time
		var e *Error
		tmpl, err := Parse(name, src)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// A tenth of the default keeps the test short under the race detector.
		out, err := tmpl.Render(context.Background(), Limits{Steps: 2_000_000}, map[string]any{"a": NewDict(0)})
		if !errors.As(err, &e) {
			t.Errorf("%s: %d bytes, error %v; want one of the package", name, len(out), err)
		}
		if d := measure.CPUTime() - start; d > 30*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
}

func TestLimitsAreSettable(t *testing.T) {
	tmpl, err := Parse("t", "{% for i in range(50) %}{{ 'x' * 10 }}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lim  Limits
		want string
	}{
		{Limits{}, ""},
		{Limits{OutputBytes: 500}, ""},
		{Limits{OutputBytes: 499}, "a text that the template renders has at least 500 bytes; at most 499 are allowed"},
		{Limits{Steps: 100}, "more than 100 operations"},
		{Limits{Depth: 2}, "2 deep"},
	} {
		out, err := tmpl.Render(context.Background(), c.lim, nil)
		if c.want == "" && (err != nil || len(out) != 500) {
			t.Errorf("%+v: %d bytes, %v", c.lim, len(out), err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: error %v, want %q", c.lim, err, c.want)
		}
	}
}

func TestCancelledContextEnds(t *testing.T) {
	tmpl, err := Parse("t", "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tmpl.Render(ctx, Limits{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

// TestParseErrors: they name the line and the problem.
func TestParseErrors(t *testing.T) {
	for src, want := range map[string]string{
		"a\n{{ 1 2 }}":               "t line 2: TemplateSyntaxError: expected end of print statement, got '2'",
		"{% include 'x' %}":          "include %} is not allowed in a chat template: it reads another file",
		"{% import 'x' as y %}":      "import %} is not allowed",
		"{% from 'x' import y %}":    "from %} is not allowed",
		"{% extends 'x' %}":          "extends %} is not allowed",
		"{% block a %}":              "block %} is not allowed",
		"{% autoescape true %}":      "autoescape %} is not allowed",
		"\n\n{% frob %}":             "t line 3: TemplateSyntaxError: encountered unknown tag 'frob'",
		"{% if 1 %}\n":               "looking for 'endif'",
		"\n{{ x|frob }}":             "t line 2: TemplateSyntaxError: no filter named 'frob'",
		"{{ x is frob }}":            "no test named 'frob'",
		"{{ '\\xzz' }}":              "bad escape",
		"{{ '\\x4' }}":               "bad escape",
		"{{ '\\0' }}":                "bad escape",
		"{{ '\\U00110000' }}":        "bad escape",
		"{{ \"a\\":                   "unterminated string",
		"{% break %}":                "'break' outside a loop",
		"{{ \"abc":                   "unterminated string",
		"a {# b":                     "missing end of comment tag",
		"{% macro m(a=1, b) %}":      "without a default follows",
		"{% for a in b %}{% frob %}": "unknown tag 'frob'",
	} {
		_, err := Parse("t", src)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", src, err, want)
		}
	}
}

// TestUnsupported: what Jinja has and no chat template is known to use is
// refused by its name.
func TestUnsupported(t *testing.T) {
	const tail = " is not supported in chat templates"
	for src, want := range map[string]string{
		"{{ x | groupby('a') }}":                      "filter 'groupby'" + tail,
		"{{ x | e }}":                                 "filter 'e'" + tail,
		"{% if 1 %}{{ 5 | sum }}{% endif %}":          "filter 'sum'" + tail,
		"{{ [1] | map('round') }}":                    "filter 'round'" + tail,
		"{{ 1 is sameas 1 }}":                         "test 'sameas'" + tail,
		"{{ [1] | select('divisibleby', 1) | list }}": "test 'divisibleby'" + tail,
		"{{ 'a'.center(3) }}":                         "method 'center'" + tail,
		"{{ [1].index(1) }}":                          "method 'index'" + tail,
		"{{ {}.copy() }}":                             "method 'copy'" + tail,
		"{{ cycler(1) }}":                             "function 'cycler'" + tail,
		"{{ joiner() }}":                              "function 'joiner'" + tail,
		"{% macro m() %}{{ varargs[0] }}{% endmacro %}{{ m() }}": "variable 'varargs'" + tail,
		"{% macro m() %}{{ kwargs.a }}{% endmacro %}{{ m() }}":   "variable 'kwargs'" + tail,
		"{% for x in [1] %}{{ loop.cycle(1) }}{% endfor %}":      "loop.cycle" + tail,
		"{% for x in [1] %}{{ loop.depth + 1 }}{% endfor %}":     "loop.depth" + tail,
		"{% for x in [1] recursive %}{% endfor %}":               "recursive loops are not supported in chat templates",
		"{% with a = 1 %}{% endwith %}":                          "{% with %}" + tail,
		"{% raw %}{{ x }}{% endraw %}":                           "{% raw %}" + tail,
		"{{ m(**{}) }}":                                          "arguments with ** are not supported in chat templates",
		"{{ 2 ** 3 }}":                                           "the operator **" + tail,
		"{{ 0x1f }}":                                             "the number 0x…" + tail,
		"{{ '%s' % 1 }}":                                         "string formatting with %" + tail,
		"{{ '{:>5}'.format(1) }}":                                "the format field {:>5" + tail,
		"{{ '{a.b}'.format(a=1) }}":                              "the format field {a.b" + tail,
		"{{ {(1, 2): 3} }}":                                      "a tuple as the key of a dict" + tail,
		"{{ [1] | sort(attribute='a,b') }}":                      "sort by several attributes" + tail,
		"{{ 9223372036854775807 + 1 }}":                          "integers of more than 64 bits can be printed and compared, but not computed with",
		"{{ 99999999999999999999 * 2 }}":                         "integers of more than 64 bits can be printed and compared, but not computed with",
	} {
		_, err := render(src, nil)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Msg, want) {
			t.Errorf("%s: error %v, want %s", src, err, want)
		}
	}
}

// TestRenderErrorsNameTheLine: the innermost statement's.
func TestRenderErrorsNameTheLine(t *testing.T) {
	_, err := render("\n{% for i in [1] %}\n{% if 1 %}\n{{ i.x.y }}{% endif %}{% endfor %}", nil)
	const want = "test line 4: UndefinedError: 'int object' has no attribute 'x'"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
