// Package gbnf reads grammars in the notations of llama.cpp (GBNF) and of SGLang
// and XGrammar (EBNF). They agree in most things:
//
//	root  ::= "[" (value ("," value)*)? "]"   # a comment
//	value ::= [0-9]{1,3} | [^"\]]+ | "\u00e9" | root
//
// From XGrammar it also takes Regex("…"), Substring("…", …), TagDispatch(…) and
// r[lazy] ::= …; from llama.cpp the dot, and special tokens as <[id]> and <name>.
package gbnf

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// Options say how a grammar is read.
type Options struct {
	Root string // the start symbol
	// Token finds a special token by its name; nil: there are none.
	Token func(name string) (int32, bool)
	// Special reports whether a number is that of a special token; nil: none is.
	Special func(id int32) bool
	// EmptyAlternatives: `a ::= "x" |` is legal, as in llama.cpp.
	EmptyAlternatives bool
}

// maxDepth bounds how deep groups nest.
const maxDepth = 250

// Compile adds the grammar to b and returns its start symbol. Errors in the
// source are [*cfg.Error].
func Compile(b *cfg.Builder, source string, o Options) (cfg.Symbol, error) {
	p := &parser{b: b, text: source, o: o, rules: rules.New(b, source)}
	if err := p.grammar(); err != nil {
		return 0, err
	}
	if !p.rules.Defined(o.Root) {
		return 0, &cfg.Error{Reason: "there is no rule " + strconv.Quote(o.Root), Remedy: "name the start rule so"}
	}
	return p.rules.Compile(o.Root)
}

type parser struct {
	b      *cfg.Builder
	text   string
	pos    int
	o      Options
	rules  *rules.Rules
	nested int // lists of arguments that are open
}

func (p *parser) fail(at int, format string, args ...any) error {
	return cfg.Errorf(p.text, at, format, args...)
}

// blank skips white space and comments.
func (p *parser) blank() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		case '#':
			for p.pos < len(p.text) && p.text[p.pos] != '\n' {
				p.pos++
			}
		default:
			return
		}
	}
}

func (p *parser) accept(text string) bool {
	if strings.HasPrefix(p.text[p.pos:], text) {
		p.pos += len(text)
		return true
	}
	return false
}

func isName(c byte) bool {
	return c == '_' || c == '-' || c == '.' || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

func (p *parser) name() string {
	start := p.pos
	for p.pos < len(p.text) && isName(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

// header reads `name ::=` or `name[lazy] ::=`, if it is next.
func (p *parser) header() (name string, lazy, ok bool) {
	start := p.pos
	if name = p.name(); name != "" {
		lazy = p.accept("[lazy]")
		p.blank()
		if p.accept("::=") {
			return name, lazy, true
		}
	}
	p.pos = start
	return "", false, false
}

func (p *parser) grammar() error {
	for p.blank(); p.pos < len(p.text); p.blank() {
		at := p.pos
		name, lazy, ok := p.header()
		if !ok {
			return p.fail(at, "expected a rule, name ::= …")
		}
		e, err := p.alternatives(0)
		if err != nil {
			return err
		}
		if lazy {
			e = rules.Lazy{Of: e, At: at}
		}
		if !p.rules.Define(name, e) {
			return p.fail(at, "the rule %q is defined twice", name)
		}
	}
	return nil
}

func (p *parser) alternatives(depth int) (rules.Expr, error) {
	if depth > maxDepth {
		return nil, p.fail(p.pos, "groups nest deeper than %d", maxDepth)
	}
	var list rules.Alt
	for {
		at := p.pos
		e, err := p.sequence(depth)
		if err != nil {
			return nil, err
		}
		if len(e) == 0 && !p.o.EmptyAlternatives {
			return nil, p.fail(at, `an alternative is empty; write "" for the empty text`)
		}
		list = append(list, e)
		if p.blank(); !p.accept("|") {
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

func (p *parser) sequence(depth int) (rules.Seq, error) {
	list := rules.Seq{}
	for {
		p.blank()
		if p.pos >= len(p.text) || strings.IndexByte("|)", p.text[p.pos]) >= 0 {
			return list, nil
		}
		start := p.pos
		if _, _, ok := p.header(); ok {
			p.pos = start
			return list, nil
		}
		if strings.HasPrefix(p.text[p.pos:], "(=") {
			// XGrammar's hint on what follows a rule: it changes no language.
			p.pos += 2
			if _, err := p.alternatives(depth + 1); err != nil {
				return nil, err
			}
			if p.blank(); !p.accept(")") {
				return nil, p.fail(start, "the group is not closed")
			}
			continue
		}
		e, err := p.element(depth)
		if err != nil {
			return nil, err
		}
		if e, err = p.repeated(e, start); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
}

// repeated reads the quantifier behind e, if there is one.
func (p *parser) repeated(e rules.Expr, start int) (rules.Expr, error) {
	for count := 0; ; count++ {
		save := p.pos
		p.blank()
		at := p.pos
		lo, hi, ok, err := p.quantifier()
		if err != nil {
			return nil, err
		}
		if !ok {
			p.pos = save
			return e, nil
		}
		if count > 0 {
			return nil, p.fail(at, "two quantifiers in a row; put the first one into parentheses")
		}
		e = rules.Rep{Of: e, Min: lo, Max: hi, At: start}
	}
}

func (p *parser) quantifier() (lo, hi int, ok bool, err error) {
	at := p.pos
	switch {
	case p.accept("*"):
		return 0, -1, true, nil
	case p.accept("+"):
		return 1, -1, true, nil
	case p.accept("?"):
		return 0, 1, true, nil
	case !p.accept("{"):
		return 0, 0, false, nil
	}
	number := func() (int, bool) {
		p.blank()
		start := p.pos
		for p.pos < len(p.text) && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
			p.pos++
		}
		n, e := strconv.Atoi(p.text[start:p.pos])
		if p.pos > start && (e != nil || n > 1_000_000) {
			err = p.fail(start, "a bound of a repetition is above 1,000,000")
		}
		p.blank()
		return n, p.pos > start
	}
	lo, hasLo := number()
	hi = lo
	if p.accept(",") {
		hasHi := false
		if hi, hasHi = number(); !hasHi {
			hi = -1
		}
		hasLo = hasLo || hasHi
	}
	switch {
	case err != nil:
	case !hasLo || !p.accept("}"):
		err = p.fail(at, "expected {n}, {n,}, {,m} or {n,m}")
	case hi >= 0 && hi < lo:
		err = p.fail(at, "the bounds of a repetition are out of order")
	}
	return lo, hi, true, err
}

func (p *parser) element(depth int) (rules.Expr, error) {
	at := p.pos
	switch c := p.text[at]; {
	case c == '"' || c == '\'':
		text, err := p.quoted()
		return rules.Text{Term: p.b.Set.Literal(text)}, err
	case c == '[':
		return p.class()
	case c == '.':
		p.pos++
		return rules.Text{Term: p.b.Set.Runes(regex.AllRunes...)}, nil
	case c == '(':
		p.pos++
		e, err := p.alternatives(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.blank(); !p.accept(")") {
			return nil, p.fail(at, "the group is not closed")
		}
		return e, nil
	case c == '<':
		return p.token()
	case isName(c):
		name := p.name()
		if p.blank(); p.pos < len(p.text) && p.text[p.pos] == '(' {
			if e, ok, err := p.macro(name, at); ok || err != nil {
				return e, err
			}
		}
		return rules.Ref{Name: name, At: at}, nil
	}
	r, _ := utf8.DecodeRuneInString(p.text[at:])
	return nil, p.fail(at, "unexpected %q", r)
}
