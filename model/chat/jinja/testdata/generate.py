"""Writes semantics.jsonl: small templates with what Python's jinja2 makes of
them in the environment that transformers gives chat templates. Run it with
jinja2 3.1 installed after adding a template below; read the diff."""

import json
import os

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

    def _run(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
env.filters["tojson"] = tojson

VARS = {
    "s": "Hello, Wörld 😀", "sp": "  a b\tc \n", "n": 7, "neg": -7, "f": 2.5, "t": True, "no": None,
    "l": [3, 1, 2], "words": ["b", "A", "c", "a"], "empty": [], "nested": [[1, 2], [3]],
    "d": {"z": 1, "a": {"k": ["x", None, True, 1.0]}, "é": "<&>'\""},
    "users": [{"name": "Bo", "age": 3, "on": True}, {"name": "al", "age": 1, "on": False}, {"name": "Cy", "age": 2}],
    "big": 12345678901234567890123, "items_key": {"items": 5, "get": 6},
}

T = {}
T["whitespace"] = [
    "a\n  {% if t %}\n  b\n  {% endif %}\nc\n", "a  {%- if t -%}  b  {%- endif -%}  c", "  {{ n }}  \n x", "x {{- n -}} y",
    "  {%+ if t %}x{% endif %}", "{% if t +%}\nx{% endif %}", "a\n  {# c #}\nb", "a {#- c -#} b", "{# a #}\n\nb", "a\n\n", "a\r\nb\rc\n",
    "a{% if t %}\n\n b{% endif %}\n",
    "\t {% set x = 1 %}\t\n{{ x }}", "{{ 'a' }}\n{{ 'b' }}\n", " x {% if t %} y {% endif %} z ", "a\n{{- '\n' }}b", "{#- only -#}", "", "{", "{ {% if t %}x{% endif %} }", "{#-#}x",
    "{{ '}}' }}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{{ '{%' }}{{ \"#}\" }}", "\u00a0{%- if t %}x{% endif %}",
]
T["literals"] = [
    "{{ 1_000 }} {{ 1.5e3 }} {{ 1e100 }} {{ 2.0 }} {{ 1e16 }} {{ 1e-5 }} {{ 0.0001 }} {{ 123456789.123456789 }}",
    r"{{ 'a\n\t\\\'\"\x41\u00e9\U0001F600\q' }}", "{{ 'a' 'b' \"c\" }}", "{{ [1, 'a', none, true, 1.0, [], {}, ()] }}", "{{ (1,) }} {{ (1, 2) }} {{ 1, 2 }} {{ () }}",
    "{{ {'b': 1, 'a': 2, 1: 3, none: 4, true: 5} }}", "{{ True }}{{ False }}{{ None }}{{ true }}{{ none }}", "{{ [1,2,] }}{{ {'a':1,} }}", "{{ big }} {{ [big, 1] }} {{ big | int }} {{ big | tojson }} {{ big == big }} {{ big > 1 }} {{ big < 1.5 }} {{ big is integer }} {{ {big: 1}[big] }}",
    "{{ ['it\\'s', 'say \"x\"', '\\'\"', 'a\\nb\\tc\\\\', 'é😀\\x00\\x7f\\u200b'] }}", "{{ 99999999999999999999 }} {{ 9223372036854775807 }} {{ -9223372036854775807 - 1 }}",
]
T["arithmetic"] = [
    "{{ 7 // 2 }} {{ neg // 2 }} {{ 7 // -2 }} {{ neg % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 6 / 2 }}",
    "{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1 + 2.0 }} {{ 0.1 + 0.2 }} {{ true + 1 }} {{ -f }} {{ +n }} {{ 1.0 * 3 }} {{ -0.0 }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 3 * 'x' }} {{ 'x' * -1 }}|",
    "{{ [1] + [2] }} {{ [1] * 2 }} {{ (1,) + (2,) }}", "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ [1] + 'a' }}", "{{ none + 1 }}", "{{ 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1] }}", "{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 1 - 2 - 3 }} {{ 2 * 3 % 4 }}",
    "{{ 1 ~ 2 + 3 }}", "{{ 3.7 // 1 }} {{ 100000 * 100000 }} {{ -3 * 9 }}",
]
T["comparison"] = [
    "{{ 1 == 1.0 }} {{ 1 == true }} {{ '1' == 1 }} {{ none == false }} {{ [1] == [1.0] }} {{ {'a': 1} == {'a': 1} }} {{ (1,) == [1] }}", "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 != 2 }}", "{{ 'a' < 1 }}", "{{ none < 1 }}",
    "{{ 1 in l }} {{ 9 not in l }} {{ 'ell' in s }} {{ 'z' in d }} {{ 1.0 in [1] }} {{ 'a' in ('a',) }}", "{{ 1 in 'abc' }}", "{{ 'a' in none }}", "{{ 1 in 5 }}", "{{ x in l }}", "{{ 'a' in x }}", "{{ not 1 == 2 }} {{ not t and no }} {{ no or 'x' }} {{ 0 or '' or [] }}|{{ 1 and 2 }}",
    "{{ 'a' if t }}{{ 'b' if no }}{{ 'c' if no else 'd' if no else 'e' }}", "{{ x == y }} {{ x != 1 }} {{ x is defined }}", "{{ 'x' in d.keys() }} {{ ('z', 1) in d.items() }} {{ 1 in d.values() }}", "{{ [] in {} }}", "{{ 3 in range(5) }} {{ l is sequence }}",
]
T["undefined"] = [
    "[{{ x }}]", "{{ x.y }}", "{{ x['y'] }}", "{{ d.nope }}|{{ d['nope'] }}|{{ l[9] }}|{{ s[99] }}|{{ l.nope }}", "{{ d.nope.more }}", "{{ x() }}", "{{ x + 1 }}", "{{ 'a' + x }}", "{{ -x }}", "{{ x < 1 }}", "{% for i in x %}a{% else %}none{% endfor %}",
    "{{ x | length }} {{ x | list }} {{ x | join }}|{{ x | upper }}|{{ x | default('q') }}", "{{ x | tojson }}", "{{ x | int }} {{ x | string }}|", "{{ 1 if x else 2 }} {{ not x }} {{ x and 1 }}", "{{ [x] }} {{ x ~ 'a' }}", "{{ no.x }}", "{{ no.x.y }}", "{{ n.x }}", "{{ l.append(1) }}", "{{ d.pop('z') }}", "{{ l.append is defined }}", "{{ d.update }}",
    "{{ s.__class__ }}", "{{ s.__class__.__mro__ }}", "{{ x | items | list }}", "{{ x | dictsort }}", "{{ x | selectattr('a') | list }}", "{{ no | selectattr('a') | list }}", "{{ users | map(attribute='nope') | list }}", "{{ d | length }} {{ n | length }}",
]
T["access"] = [
    "{{ s[0] }}{{ s[-1] }}{{ s[7:] }}{{ s[::-1] }}{{ s[1:4] }}{{ s[:-3] }}", "{{ l[0] }}{{ l[-1] }}{{ l[1:] }}{{ l[::-1] }}{{ l[:2] }}{{ l[::2] }}{{ l[5:] }}{{ l[-2:] }}{{ l[2:0:-1] }}", "{{ d.a.k[0] }} {{ d['a']['k'][3] }} {{ d.a.k.0 }} {{ d.z }}", "{{ items_key.items }}"[:0] + "{{ items_key['items'] }} {{ items_key['get'] }}",
    "{{ items_key.items() | list }}", "{{ (1, 2, 3)[1:] }} {{ range(10)[2:5] | list }} {{ range(10)[-1] }}", "{{ l[none:2] }} {{ l['a'] }}|", "{{ l[::0] }}", "{{ l['1':] }}", "{{ users[0].name }} {{ users[-1]['name'] }}", "{{ l[true] }} {{ d[1] }}|", "{{ s.nope }}|{{ s['upper']() }}", "{{ nested[0][1] }} {{ nested.0.1 }}",
]
T["strings"] = [
    "[{{ sp.strip() }}][{{ sp.lstrip() }}][{{ sp.rstrip() }}]", "{{ 'xxaxx'.strip('x') }} {{ 'abc'.lstrip('ba') }} {{ 'a.b.'.rstrip('.') }}", "{{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ sp.split() }} {{ ' a  b c '.split(none, 1) }} {{ 'abc'.split('x') }} {{ ''.split() }} {{ ''.split(',') }}",
    "{{ 'a,b,c'.rsplit(',', 1) }} {{ ' a  b c '.rsplit(none, 1) }} {{ 'a b'.rsplit() }} {{ 'a,b'.split(sep=',', maxsplit=1) }}", "{{ 'a'.split('') }}", "{{ 'a\\nb\\r\\nc\\n'.splitlines() }}", "{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'a'.partition('-') }}",
    "{{ s.startswith('He') }} {{ s.endswith(('x', '😀')) }} {{ s.startswith('e', 1) }} {{ 'a'.startswith(1) }}", "{{ s.startswith('Hello') and not s.endswith('x') }}", "{{ 'aaa'.replace('a', 'b') }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'ab'.replace('', '-') }}", "{{ s.upper() }} {{ s.lower() }} {{ 'ß'.upper() }} {{ 'they\\'re bill\\'s'.title() }} {{ 'ABC def'.capitalize() }}",
    "{{ s.find('W') }} {{ s.find('zz') }} {{ s.rfind('l') }} {{ s.index('o') }} {{ s.count('l') }} {{ s.find('l', 3) }}", "{{ s.index('zz') }}", "{{ ', '.join(words) }} {{ ''.join([]) }}", "{{ ','.join([1]) }}",
    "{{ '1'.isdigit() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }} {{ ''.isspace() }} {{ 'Ab'.isupper() }} {{ 'ab'.islower() }} {{ 'é'.isalpha() }} {{ 'é'.isascii() }}", "{{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('bc') }}", "{{ '{} {} {0}'.format(1) }}", "{{ '{} {x} {}'.format(1, x='q') }}",
    "{{ '{0} {x} {1} {{}}'.format(1, 'b', x='q') }} {{ '{}{}|{{{}}}'.format('a', none, 1.5) }}", "{{ s.split('o')[-1].strip() }}", "{{ 'a'.nope() }}", "{{ 'x'.strip(1) }}", "{{ 'a'.upper(1) }}",
    "{{ ('a' * 3).upper() }}", "{{ 'a b'.split(' ')[0] ~ '!' }}",
]
T["collections"] = [
    "{{ d.items() }}", "{{ d.keys() }} {{ d.values() | list }}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{{ d.get('z') }} {{ d.get('q') }} {{ d.get('q', 1) }}", "{{ d.get([]) }}", "{{ d.get('z', 1, 2) }}", "{{ d.items()[0] }}|", "{{ d.items() | length }}", "{{ dict(a=1, b=2) }} {{ dict([('x', 1)], y=2) }}", "{{ dict(1) }}",
    "{{ range(3) | list }} {{ range(1, 10, 3) | list }} {{ range(3, 0, -1) | list }} {{ range(0) | list }}", "{{ range(1000000000000) }}", "{{ range(1, 2, 0) }}", "{{ range('a') }}", "{{ {[]: 1} }}", "{{ {1: 'a', 1.0: 'b', true: 'c'} }}",
]
T["filters"] = [
    "{{ l | sort }} {{ words | sort }} {{ words | sort(case_sensitive=true) }} {{ words | sort(reverse=true) }} {{ users | sort(attribute='age') | map(attribute='name') | list }}", "{{ [1, 'a'] | sort }}", "{{ d | dictsort | map('first') | list }} {{ {'b': 1, 'A': 2} | dictsort }} {{ {'b': 1, 'A': 2} | dictsort(true) }} {{ {'b': 1, 'A': 2} | dictsort(by='value', reverse=true) }}",
    "{{ users | selectattr('on') | map(attribute='name') | join(', ') }}", "{{ users | rejectattr('on') | map(attribute='name') | list }}", "{{ users | selectattr('age', '>', 1) | list | length }} {{ users | selectattr('name', 'equalto', 'Bo') | list }} {{ users | selectattr('on', 'defined') | list | length }}", "{{ l | select('odd') | list }} {{ l | reject('>', 1) | list }} {{ [0, 1, '', 'a'] | select | list }}", "{{ l | select('nope') | list }}",
    "{{ words | map('upper') | join }} {{ words | map('replace', 'a', 'z') | list }} {{ users | map(attribute='on', default='?') | list }} {{ nested | map('join', '-') | list }}", "{{ users | map(attribute='name.0') | list }}", "{{ l | join('-') }} {{ users | join(',', attribute='name') }} {{ 'abc' | join('.') }}", "{{ ' a ' | trim }}|{{ 'xax' | trim('x') }}", "{{ no | default('a') }} {{ no | default('a', true) }} {{ '' | d('b', boolean=true) }} {{ x | default }}|",
    "{{ l | first }} {{ l | last }} {{ empty | first }}| {{ 'abc' | first }} {{ 'abc' | last }} {{ d | first }}", "{{ l | length }} {{ s | count }} {{ d | length }}", "{{ 5 | length }}", "{{ l | map('string') | length }}", "{{ [1, 1, 'a', 'A', 2] | unique | list }} {{ ['a', 'A'] | unique(true) | list }}",
    "{{ 'abc' | reverse }} {{ l | reverse | list }}", "{{ 'hello wOrld-foo (bar' | title }} {{ 'ABC d' | capitalize }} {{ 'aB' | upper }} {{ 'aB' | lower }} {{ 5 | upper }}", "{{ '3' | int }} {{ '3.9' | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ 3.9 | int }} {{ -3.9 | int }} {{ true | int }} {{ none | int }}", "{{ '3.5' | float }} {{ 'x' | float }} {{ 2 | float }} {{ 'x' | float(1.5) }}",
    "{{ 'a\\nb\\n\\nc' | indent }}|{{ 'a\\nb' | indent(2, true) }}|{{ 'a\\n\\nb' | indent(2, blank=true) }}|{{ 'a\\nb' | indent('> ') }}",
    "{{ '<' | safe }} {{ 5 | safe }}", "{{ d | items | list }} {{ d | list }} {{ 'abc' | list }}", "{{ l | items | list }}",
    "{{ 5 | string }}{{ none | string }}", "{{ x | nope }}", "{% if no %}{{ x | nope }}{% endif %}ok", "{{ (1 | nope) if no else 2 }}", "{{ l | first | string | upper }}", "{{ 1 | default(2) + 3 }}", "{{ l | join(',') | replace(',', '-') }} {{ 'aa' | replace('a', 'b', 1) }} {{ 5 | replace('5', '6') }}", "{{ l | tojson | length }}", "{{ l | join(1) }}", "{{ none | join }}",
    "{% filter upper | replace('A', 'b') %}a{{ 'x' }}{% endfilter %}", "{% filter indent(2) %}a\nb{% endfilter %}",
]
T["tojson"] = [
    "{{ d | tojson }}", "{{ d | tojson(indent=2) }}", "{{ d | tojson(separators=(',', ':')) }}", "{{ d | tojson(ensure_ascii=true) }}", "{{ {'b': 1, 'a': [1, {}]} | tojson(indent=4) }}", "{{ s | tojson }} {{ 'a\\n\\t\\\\\\x01\\x7f\\u2028/' | tojson }}", "{{ [1.0, 1e20, 1e-7, true, none, (1, 2)] | tojson }} {{ [] | tojson(indent=1) }} {{ {} | tojson(indent=1) }}", "{{ {1: 'a', none: 'b', true: 'c', 1.5: 'd'} | tojson }}", "{{ d.items() | tojson }}", "{{ l | map('string') | tojson }}", "{{ users | tojson(indent='\t') }}", "{{ [[1, 2]] | tojson(indent=0) }}", "{{ '😀' | tojson(ensure_ascii=true) }}",
]
T["tests"] = [
    "{{ s is string }} {{ n is string }} {{ d is mapping }} {{ l is mapping }} {{ l is sequence }} {{ s is sequence }} {{ d is sequence }} {{ n is sequence }} {{ l is iterable }} {{ n is iterable }} {{ s is iterable }} {{ x is iterable }} {{ x is sequence }} {{ d.items() is sequence }} {{ d.items() is iterable }}",
    "{{ n is number }} {{ f is number }} {{ t is number }} {{ n is integer }} {{ t is integer }} {{ f is float }} {{ t is boolean }} {{ t is true }} {{ 1 is true }} {{ false is false }} {{ no is none }} {{ x is none }} {{ no is not none }}", "{{ x is defined }} {{ x is undefined }} {{ no is defined }} {{ d.q is defined }} {{ d.z is defined and d.z == 1 }} {{ x is not defined }}", "{{ 3 is odd }} {{ 3 is even }}",
    "{{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 2 is ge 2 }} {{ 1 is in [1] }} {{ 1 is not in [1] }}", "{{ 'a' is lower }} {{ 'A' is upper }} {{ range is callable }} {{ n is callable }}", "{{ n is nope }}", "{% if no %}{{ n is nope }}{% endif %}ok", "{{ n is odd is even }}", "{{ not n is odd }} {{ n is odd and f is float or no }}", "{{ 'x' if n is odd else 'y' }}", "{{ l | length is eq 3 }}",
]
T["loops"] = [
    "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}", "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}", "{% for i in l %}{{ loop.length }}{{ loop.revindex }}{% endfor %}", "{% for i in l if i > 1 %}{{ i }}/{{ loop.length }} {% endfor %}", "{% for i in [] %}x{% else %}none{% endfor %}", "{% for i in l if i > 9 %}x{% else %}none{% endfor %}", "{% for k, v in [(1, 2), (3, 4)] %}{{ k }}{{ v }}{% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}x{% endfor %}", "{% for a, b in [1] %}x{% endfor %}", "{% for i in 5 %}x{% endfor %}", "{% for i in none %}x{% endfor %}", "{% for c in 'añ😀' %}{{ c }}.{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for i in l %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "{% for i in l %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}", "{% for i in l %}{% for j in l %}{% if j == 1 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% endfor %}", "{% for i in l %}{{ i }}{% for j in [] %}{% else %}{% break %}{% endfor %}!{% endfor %}.", "{% for i in l %}{{ i }}{% for j in [] %}{% else %}{% if i == 1 %}{% continue %}{% endif %}{% endfor %}!{% endfor %}.", "{% for i in [] %}{% else %}{% break %}{% endfor %}", "{% break %}"[:0] + "x",
    "{% for i in l %}{% set last = i %}{% endfor %}[{{ last }}]", "{% set x = 0 %}{% for i in l %}{{ x }}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}", "{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "{% for i in l %}{{ loop.nope }}{% endfor %}|", "{% for i in l %}{% endfor %}{{ i }}|", "{% for i in range(3) %}{% for j in range(2) %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}", "{% for m in users[::-1] %}{{ m.name }}{{ loop.index0 }}{% endfor %}", "{% for i in l -%} {{ i }} {%- endfor %}", "{{ loop }}|", "{% for u in users | selectattr('on') %}{{ u.name }}{% endfor %}", "{% for i in l %}{% if loop.first %}[{% endif %}{{ i }}{{ ', ' if not loop.last }}{% if loop.last %}]{% endif %}{% endfor %}",
    "{% for loop in l %}x{% endfor %}"[:0] + "y", "{% for i in l %}{% set i = i * 2 %}{{ i }}{% endfor %}",
]
T["set"] = [
    "{% set a = 1 %}{% set b, c = 2, 3 %}{{ a }}{{ b }}{{ c }}", "{% set a %}x{{ n }}\ny{% endset %}[{{ a }}]", "{% set a | upper | trim %} x {% endset %}[{{ a }}]", "{% set ns = namespace(a=1, b='x') %}{% set ns.a = 5 %}{% set ns.c = 6 %}{{ ns.a }}{{ ns.b }}{{ ns.c }}{{ ns.d }}|", "{% set ns = namespace({'a': 1}) %}{{ ns.a }}", "{% set d.z = 1 %}", "{% set q.z = 1 %}", "{% if t %}{% set v = 1 %}{% endif %}{{ v }}", "{% set a = 1, 2 %}{{ a }}", "{% set x = x if x is defined else 'new' %}{{ x }}", "{% set a = [1] %}{% set a = a + [2] %}{{ a }}",
    "{% generation %}g{{ n }}{% endgeneration %}!", "a\n  {% generation %}\n  g\n  {% endgeneration %}\nb", "{% generation %}{% set q = 1 %}{% endgeneration %}[{{ q }}]", "{% set none = 1 %}", "{% set a = %}", "{% set 1 = a %}",
]
T["macros"] = [
    "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }} {{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(q=2) }}", "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(1, a=2) }}", "{% macro m(a) %}[{{ caller() }}{{ a }}]{% endmacro %}{% call m(1) %}body{{ n }}{% endcall %}", "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}{{ b }}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}",
    "{% macro f(x) %}{% if x > 0 %}{{ x }}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% macro m() %}{{ g }}{% endmacro %}{% set g = 1 %}{{ m() }}", "{% set g = 1 %}{% macro m() %}{{ g }}{% set g = 2 %}{% endmacro %}{{ m() }}{{ g }}", "{% macro m() -%}\n  a\n{%- endmacro %}[{{ m() }}]", "{{ m() }}{% macro m() %}x{% endmacro %}", "{% macro m(a=n, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}{{ m(1) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m | string | length > 0 }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ [1, 2] | map('string') | map('upper') | list }}{{ m(*[1]) }}", "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro a() %}A{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "{% macro m(a, b=1, c) %}{% endmacro %}", "{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}", "{% set r = m(1) if m is defined else 'none' %}{{ r }}", "{% macro m(x) %}{% for i in range(x) %}{{ i }}{% endfor %}{% endmacro %}{{ m(3) ~ m(2) }}", "{{ n() }}",
]
T["syntax errors"] = [
    "{{", "{{ 1", "{% if %}{% endif %}", "{% if 1 %}", "{% endif %}", "{% nope %}", "{{ 1 2 }}", "{{ (1 }}", "{{ 1) }}", "{{ 'a }}", "{# a", "{% raw %}x", "{{ a. }}", "{{ [1 }}", "{{ }}", "{% for %}{% endfor %}", "{% for i in %}{% endfor %}", "{{ a | }}", "{{ a is }}", "{% for i in l %}{% else %}{% else %}{% endfor %}", "{{ f(a=1, 2) }}", "{{ 1 + }}", "{% macro %}{% endmacro %}", "{{ @ }}", "{% set %}", "{{ a b }}", "{% if 1 %}{% endfor %}", "{{ {1} }}", "{% call 1 %}{% endcall %}", "{{ a ? b : c }}", "{{ '\\x4' }}", "{% break %}", "{{ a[] }}"[:0] + "{{ a[1 }}",
]


def run(src):
    try:
        return {"out": env.from_string(src).render(**VARS)}
    except Exception as e:  # the kind of failure is part of the result
        name = "TemplateSyntaxError" if isinstance(e, (jinja2.TemplateSyntaxError, SyntaxError)) else type(e).__name__
        return {"error": name}


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "semantics.jsonl"), "w") as f:
    f.write(json.dumps({"vars": VARS}, ensure_ascii=False) + "\n")
    for topic, sources in T.items():
        for src in sources:
            f.write(json.dumps({"topic": topic, "src": src, **run(src)}, ensure_ascii=False) + "\n")
