// Package lark reads grammars in LLGuidance's dialect of Lark.
//
//	start: greeting NAME ("," NAME)* "!"
//	greeting[lazy]: /.*/ "hello "
//	NAME: /[A-Z][a-z]+/ & ~("Bob" | "Eve")
//	%import common.WS
//	%ignore WS
//
// Of the dialect it takes rules and terminals, their operators, ranges, regular
// expressions with flags, lazy, suffix and stop, imports of common, %ignore,
// %json, %regex, %lark, special tokens and parametric rules. What would limit
// the number of tokens or change sampling (max_tokens, temperature) is refused.
//
// There is no lexer: a terminal is not forced to be as long as it can be.
package lark

import (
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// Options say what a grammar may refer to.
type Options struct {
	// Token finds a special token by its name; nil: there are none.
	Token func(name string) (int32, bool)
	// JSON compiles a JSON schema; nil: %json is refused.
	JSON func(schema []byte) (cfg.Symbol, error)
}

const (
	maxDepth  = 250
	maxNested = 10 // levels of %lark
)

// Compile adds the grammar to b and returns its start symbol. Errors in the
// source are [*cfg.Error].
func Compile(b *cfg.Builder, source string, o Options) (cfg.Symbol, error) {
	return compile(b, source, 0, o, 0)
}

// compile reads the grammar that begins at byte begin of source.
func compile(b *cfg.Builder, source string, begin int, o Options, nested int) (cfg.Symbol, error) {
	p := &parser{b: b, text: source, pos: begin, o: o, rules: rules.New(b, source), nested: nested,
		heads: map[string]*head{}, instances: map[string]bool{}}
	if err := p.grammar(); err != nil {
		return 0, err
	}
	if !p.rules.Defined("start") {
		return 0, &cfg.Error{Reason: `there is no rule "start"`, Remedy: "name the start rule so"}
	}
	return p.rules.Compile("start")
}

type parser struct {
	b      *cfg.Builder
	text   string
	pos    int
	o      Options
	rules  *rules.Rules
	nested int
	depth  int

	heads     map[string]*head
	order     []*head
	ignore    rules.Alt
	instances map[string]bool // of parametric rules
	now       *head           // the rule that is being read
	pending   []instance
}

// head is the left side of a rule, and where its right side is.
type head struct {
	name       string
	at         int
	body       int // first byte of the right side
	terminal   bool
	lazy       bool
	suffix     rules.Expr
	stop       bool
	parametric bool
	usesParam  bool
	value      uint64 // of the parameter, while an instance is read
}

func (p *parser) fail(at int, format string, args ...any) error {
	return cfg.Errorf(p.text, at, format, args...)
}

// blank skips white space and comments, over the ends of lines.
func (p *parser) blank() {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.pos++
		case c == '#' || strings.HasPrefix(p.text[p.pos:], "//"):
			for p.pos < len(p.text) && p.text[p.pos] != '\n' {
				p.pos++
			}
		default:
			return
		}
	}
}

func (p *parser) next(text string) bool { return strings.HasPrefix(p.text[p.pos:], text) }

func (p *parser) accept(text string) bool {
	if p.next(text) {
		p.pos += len(text)
		return true
	}
	return false
}

func isName(c byte) bool {
	return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

func (p *parser) name() string {
	start := p.pos
	for p.pos < len(p.text) && (isName(p.text[p.pos]) || p.pos > start && p.text[p.pos] == '-' && p.pos+1 < len(p.text) && isName(p.text[p.pos+1])) {
		p.pos++
	}
	return p.text[start:p.pos]
}

// isTerminal: a name in capitals is a terminal.
func isTerminal(name string) bool {
	name = strings.TrimLeft(name, "_")
	return name != "" && 'A' <= name[0] && name[0] <= 'Z'
}

// grammar reads all statements twice: the heads first, so that a rule knows
// what it refers to.
func (p *parser) grammar() error {
	for p.blank(); p.pos < len(p.text); p.blank() {
		at := p.pos
		var err error
		if p.next("%") {
			err = p.directive()
		} else {
			err = p.statement()
		}
		if err != nil {
			return err
		}
		if p.pos <= at {
			return p.fail(at, "expected a rule, name: …")
		}
	}
	for _, h := range p.order {
		if h.parametric {
			continue
		}
		if err := p.define(h, h.name); err != nil {
			return err
		}
	}
	return p.instantiate()
}

// define reads the right side of h and gives it a name.
func (p *parser) define(h *head, name string) error {
	p.pos, p.now = h.body, h
	e, err := p.alternatives()
	if err != nil {
		return err
	}
	if err := p.atEnd(); err != nil {
		return err
	}
	if h.lazy || h.suffix != nil {
		if p.refersToRules(e) {
			return p.fail(h.at, "%q is lazy, so it may refer to terminals only", h.name)
		}
		if h.suffix != nil {
			e = rules.Seq{e, h.suffix}
		}
		e = p.spaced(rules.Lazy{Of: e, At: h.at})
	}
	if !p.rules.Define(name, e) {
		return p.fail(h.at, "%q is defined twice", h.name)
	}
	return nil
}

// refersToRules reports whether e names anything but terminals.
func (p *parser) refersToRules(e rules.Expr) bool {
	any := func(list []rules.Expr) bool {
		for _, e := range list {
			if p.refersToRules(e) {
				return true
			}
		}
		return false
	}
	switch e := e.(type) {
	case rules.Ref:
		return !isTerminal(e.Name)
	case rules.Seq:
		return any(e)
	case rules.Alt:
		return any(e)
	case rules.And:
		return any(e)
	case rules.Rep:
		return p.refersToRules(e.Of)
	case rules.Not:
		return p.refersToRules(e.Of)
	case rules.Symbol:
		return true
	}
	return false
}

// spaced adds what is ignored behind a part of a rule.
func (p *parser) spaced(e rules.Expr) rules.Expr {
	if len(p.ignore) == 0 || p.now != nil && p.now.terminal {
		return e
	}
	return rules.Seq{e, rules.Rep{Of: p.ignore, Min: 0, Max: regex.Unbounded}}
}

// whole: what is read is the body of a terminal or of a lazy rule, where
// nothing is ignored.
func (p *parser) whole() bool { return p.now.terminal || p.now.lazy || p.now.suffix != nil }

// atEnd checks that a statement ends here.
func (p *parser) atEnd() error {
	p.blank()
	if p.pos == len(p.text) || p.next("%") {
		return nil
	}
	start := p.pos
	if _, ok, err := p.header(); ok || err != nil {
		p.pos = start
		return err
	}
	return p.fail(start, "unexpected %.20q", p.text[start:])
}
