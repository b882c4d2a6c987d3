package gbnf

import (
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// macro reads the arguments of Regex, Substring or TagDispatch. ok: it is one.
func (p *parser) macro(name string, at int) (e rules.Expr, ok bool, err error) {
	var read func(a arguments, at int) (rules.Expr, error)
	switch name {
	case "Regex":
		read = p.regex
	case "Substring":
		read = p.substring
	case "TagDispatch":
		read = p.dispatch
	default:
		return nil, false, nil
	}
	a, err := p.arguments()
	if err != nil {
		return nil, true, err
	}
	e, err = read(a, at)
	return e, true, err
}

// argument is a string, a name, a list of arguments, one of them.
type argument struct {
	key  string
	text string
	name string
	list []argument
	kind byte // s, n or l
	at   int
}

type arguments []argument

func (a arguments) named(key string) (argument, bool) {
	for _, x := range a {
		if x.key == key {
			return x, true
		}
	}
	return argument{}, false
}

// arguments reads a list in parentheses.
func (p *parser) arguments() (arguments, error) {
	at := p.pos
	p.pos++
	list := arguments{}
	for {
		if p.blank(); p.accept(")") {
			return list, nil
		}
		a, err := p.argument()
		if err != nil {
			return nil, err
		}
		list = append(list, a)
		p.blank()
		if !p.accept(",") && !strings.HasPrefix(p.text[p.pos:], ")") {
			return nil, p.fail(at, "the arguments are not closed by )")
		}
	}
}

func (p *parser) argument() (a argument, err error) {
	a.at = p.pos
	if p.pos >= len(p.text) {
		return a, p.fail(a.at, "an argument is missing")
	}
	switch c := p.text[p.pos]; {
	case c == '"' || c == '\'':
		a.kind = 's'
		a.text, err = p.quoted()
	case c == '(':
		if len(p.text)-p.pos > 1<<20 {
			return a, p.fail(a.at, "the list is too long")
		}
		if p.nested++; p.nested > maxDepth {
			return a, p.fail(a.at, "lists nest too deep")
		}
		a.kind = 'l'
		a.list, err = p.arguments()
		p.nested--
	case isName(c):
		a.kind = 'n'
		a.name = p.name()
		if p.blank(); p.accept("=") {
			p.blank()
			key := a.name
			if p.nested++; p.nested > maxDepth {
				return a, p.fail(a.at, "arguments nest too deep")
			}
			if a, err = p.argument(); err == nil && a.key != "" {
				err = p.fail(a.at, "expected a value")
			}
			p.nested--
			a.key = key
		}
	default:
		err = p.fail(a.at, "expected a string, a name or a list")
	}
	return a, err
}

func (p *parser) flag(a arguments, key string, fallback bool) (bool, error) {
	x, ok := a.named(key)
	switch {
	case !ok:
		return fallback, nil
	case x.kind == 'n' && x.name == "true":
		return true, nil
	case x.kind == 'n' && x.name == "false":
		return false, nil
	}
	return false, p.fail(x.at, "%s must be true or false", key)
}

func (p *parser) regex(a arguments, at int) (rules.Expr, error) {
	if len(a) == 0 || a[0].kind != 's' || a[0].key != "" {
		return nil, p.fail(at, "Regex needs a pattern in quotes")
	}
	o := regex.Options{ECMA: true}
	for _, x := range a[1:] {
		switch x.key {
		case "json_string":
		case "flags":
			for _, c := range x.text {
				switch c {
				case 'i':
					o.IgnoreCase = true
				case 's':
					o.DotNewline = true
				case 'u':
				default:
					return nil, p.fail(x.at, "the flag %c is not supported", c)
				}
			}
		default:
			return nil, p.fail(x.at, "Regex takes flags and json_string only")
		}
	}
	s := p.b.Set
	t, err := s.Parse(a[0].text, o)
	if err != nil {
		return nil, p.fail(a[0].at, "%v", err)
	}
	inString, err := p.flag(a, "json_string", false)
	if inString {
		safe := regex.NegateRunes([]regex.RuneRange{{Lo: 0, Hi: 0x1f}, {Lo: '"', Hi: '"'}, {Lo: '\\', Hi: '\\'}})
		t = s.And(t, s.Repeat(s.Runes(safe...), 0, regex.Unbounded))
	}
	return rules.Text{Term: t}, err
}

func (p *parser) substring(a arguments, _ int) (rules.Expr, error) {
	chunks, err := p.strings(a)
	return rules.Text{Term: rules.Substring(p.b.Set, chunks)}, err
}

func (p *parser) strings(a arguments) ([]string, error) {
	var list []string
	for _, x := range a {
		if x.kind != 's' || x.key != "" {
			return nil, p.fail(x.at, "expected a string in quotes")
		}
		list = append(list, x.text)
	}
	return list, nil
}

// dispatch reads pairs (word, rule), and excludes=(…), loop_after_dispatch=….
func (p *parser) dispatch(a arguments, _ int) (rules.Expr, error) {
	d := rules.Dispatch{}
	var err error
	if d.Loop, err = p.flag(a, "loop_after_dispatch", true); err != nil {
		return nil, err
	}
	for _, x := range a {
		switch {
		case x.key == "loop_after_dispatch":
		case x.key == "excludes" && x.kind == 'l':
			if d.Excluded, err = p.strings(x.list); err != nil {
				return nil, err
			}
		case x.key != "":
			return nil, p.fail(x.at, "TagDispatch takes excludes and loop_after_dispatch only")
		case x.kind != 'l' || len(x.list) != 2 || x.list[0].kind != 's' || x.list[1].kind != 'n':
			return nil, p.fail(x.at, "expected (\"word\", rule)")
		case x.list[0].text == "":
			return nil, p.fail(x.at, "the word is empty")
		default:
			d.Branches = append(d.Branches, rules.Branch{Word: x.list[0].text, Then: p.rules.Forward(x.list[1].name, x.list[1].at)})
		}
	}
	for _, e := range d.Excluded {
		if e == "" {
			return nil, p.fail(p.pos, "an excluded word is empty")
		}
		for _, b := range d.Branches {
			if strings.Contains(b.Word, e) {
				return nil, p.fail(p.pos, "%q is excluded, so %q can never come", e, b.Word)
			}
		}
	}
	return rules.Symbol{Symbol: d.Compile(p.b)}, nil
}
