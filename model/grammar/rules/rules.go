// Package rules turns named expressions, as EBNF, GBNF and Lark have them, into
// a context-free grammar.
//
// What does not refer to itself is a regular language and becomes one terminal,
// whatever rules it was written in. That changes no language, and a terminal is
// followed faster than rules.
package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// Expr is an expression over names.
type Expr interface{}

type (
	// Text is a regular language.
	Text struct{ Term regex.Term }
	// Ref refers to a name. At is a byte of the source, for errors.
	Ref struct {
		Name string
		At   int
	}
	// Seq is one of each, in order; an empty one is the empty text.
	Seq []Expr
	// Alt is one of them.
	Alt []Expr
	// Rep is between Min and Max of Of; Max < 0: no maximum.
	Rep struct {
		Of       Expr
		Min, Max int
		At       int
	}
	// Symbol is a part of the grammar that was built by other means.
	Symbol struct{ Symbol cfg.Symbol }
	// And is the texts that are in all of them, which must be regular.
	And []Expr
	// Not is the texts that are not in Of, which must be regular.
	Not struct{ Of Expr }
	// Lazy ends where it can. What it holds must be regular.
	Lazy struct {
		Of Expr
		At int
	}
)

// Rules is a set of named expressions.
type Rules struct {
	b       *cfg.Builder
	source  string
	defs    map[string]Expr
	regular map[string]state
	terms   map[string]regex.Term
	symbols map[string]cfg.Symbol
	forward []forward
}

type state uint8

const (
	unknown state = iota
	visiting
	yes
	no
)

// MaxRepeat is the largest bound of a repetition of rules.
const MaxRepeat = 100_000

// maxRules bounds a grammar: rules that refer to one another are followed by
// recursion.
const maxRules = 50_000

// New returns an empty set of rules. source is for positions in errors.
func New(b *cfg.Builder, source string) *Rules {
	return &Rules{b: b, source: source, defs: map[string]Expr{}, regular: map[string]state{},
		terms: map[string]regex.Term{}, symbols: map[string]cfg.Symbol{}}
}

// Define gives an expression a name. It reports whether the name was free.
func (r *Rules) Define(name string, e Expr) bool {
	if _, ok := r.defs[name]; ok {
		return false
	}
	r.defs[name] = e
	return true
}

// Defined reports whether there is a rule of this name.
func (r *Rules) Defined(name string) bool { _, ok := r.defs[name]; return ok }

// Compile returns the symbol of a name.
func (r *Rules) Compile(name string) (cfg.Symbol, error) {
	if len(r.defs) > maxRules {
		return 0, &cfg.Error{Reason: fmt.Sprintf("the grammar has more than %d rules", maxRules)}
	}
	if err := r.check(Ref{Name: name}); err != nil {
		return 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(r.defs)) {
		if err := r.check(r.defs[name]); err != nil {
			return 0, err
		}
	}
	for _, f := range r.forward {
		if err := r.check(f.ref); err != nil {
			return 0, err
		}
		s, err := r.symbol(f.ref)
		if err != nil {
			return 0, err
		}
		r.b.Add(f.symbol, s)
	}
	return r.symbol(Ref{Name: name})
}

// Forward returns a symbol for a name that may be defined later. Compile fails
// if it is not.
func (r *Rules) Forward(name string, at int) cfg.Symbol {
	n := r.b.Nonterminal(name)
	r.forward = append(r.forward, forward{Ref{name, at}, n})
	return n
}

// forward is a symbol that was handed out for a name.
type forward struct {
	ref    Ref
	symbol cfg.Symbol
}

// check finds names that do not exist.
func (r *Rules) check(e Expr) error {
	switch e := e.(type) {
	case Ref:
		if !r.Defined(e.Name) {
			return cfg.Errorf(r.source, e.At, "unknown name %q", e.Name)
		}
	case Seq:
		return r.checkAll(e)
	case Alt:
		return r.checkAll(e)
	case And:
		return r.checkAll(e)
	case Not:
		return r.check(e.Of)
	case Rep:
		return r.check(e.Of)
	case Lazy:
		return r.check(e.Of)
	}
	return nil
}

func (r *Rules) checkAll(list []Expr) error {
	for _, e := range list {
		if err := r.check(e); err != nil {
			return err
		}
	}
	return nil
}

// IsRegular reports whether e can be written as one terminal.
func (r *Rules) IsRegular(e Expr) bool {
	switch e := e.(type) {
	case Text:
		return true
	case Ref:
		switch r.regular[e.Name] {
		case yes:
			return true
		case no, visiting:
			return false
		}
		r.regular[e.Name] = visiting
		s := no
		if r.IsRegular(r.defs[e.Name]) {
			s = yes
		}
		r.regular[e.Name] = s
		return s == yes
	case Seq:
		return r.allRegular(e)
	case Alt:
		return r.allRegular(e)
	case And:
		return r.allRegular(e)
	case Not:
		return r.IsRegular(e.Of)
	case Rep:
		return r.IsRegular(e.Of)
	}
	return false
}

func (r *Rules) allRegular(list []Expr) bool {
	for _, e := range list {
		if !r.IsRegular(e) {
			return false
		}
	}
	return true
}

// Term returns the language of a regular expression.
func (r *Rules) Term(e Expr) (regex.Term, error) {
	s := r.b.Set
	switch e := e.(type) {
	case Text:
		return e.Term, nil
	case Ref:
		if t, ok := r.terms[e.Name]; ok {
			return t, nil
		}
		t, err := r.Term(r.defs[e.Name])
		r.terms[e.Name] = t
		return t, err
	case Seq:
		list, err := r.termsOf(e)
		return s.Concat(list...), err
	case Alt:
		list, err := r.termsOf(e)
		return s.Or(list...), err
	case And:
		list, err := r.termsOf(e)
		return s.And(list...), err
	case Not:
		t, err := r.Term(e.Of)
		return s.And(AnyText(s), s.Not(t)), err
	case Rep:
		t, err := r.Term(e.Of)
		if err != nil {
			return t, err
		}
		if spread := s.Spread(t); spread > 1 && spread*max(e.Min, e.Max) > 100_000 {
			return t, &cfg.Error{At: cfg.Position(r.source, e.At), Reason: "nested counted repetitions are too large", Remedy: "use smaller bounds, or * or + for one of them"}
		}
		return s.Repeat(t, e.Min, e.Max), nil
	}
	panic(fmt.Sprintf("rules: %T is not regular", e))
}

func (r *Rules) termsOf(list []Expr) ([]regex.Term, error) {
	out := make([]regex.Term, len(list))
	for i, e := range list {
		var err error
		if out[i], err = r.Term(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *Rules) symbol(e Expr) (cfg.Symbol, error) {
	if r.IsRegular(e) {
		t, err := r.Term(e)
		return r.b.Terminal(t), err
	}
	switch e := e.(type) {
	case Symbol:
		return e.Symbol, nil
	case Lazy:
		if !r.IsRegular(e.Of) {
			return 0, &cfg.Error{At: cfg.Position(r.source, e.At), Reason: "a lazy rule may not refer to itself or to special tokens", Remedy: "write it as a regular expression"}
		}
		t, err := r.Term(e.Of)
		return r.b.Lazy(t), err
	case And, Not:
		return 0, &cfg.Error{Reason: "& and ~ take regular parts only: nothing that refers to itself, and no special tokens"}
	case Ref:
		if s, ok := r.symbols[e.Name]; ok {
			return s, nil
		}
		n := r.b.Nonterminal(e.Name)
		r.symbols[e.Name] = n
		return n, r.addRules(n, r.defs[e.Name])
	case Rep:
		if e.Min > MaxRepeat || e.Max > MaxRepeat {
			return 0, cfg.Errorf(r.source, e.At, "a bound of a repetition is above %d", MaxRepeat)
		}
		s, err := r.symbol(e.Of)
		if err != nil {
			return 0, err
		}
		return r.b.Repeat(s, e.Min, e.Max), nil
	}
	n := r.b.Nonterminal("group")
	return n, r.addRules(n, e)
}

// addRules adds the alternatives of e to n. Neighbours that are regular become
// one terminal, alternatives that are regular one rule.
func (r *Rules) addRules(n cfg.Symbol, e Expr) error {
	list, ok := e.(Alt)
	if !ok {
		list = Alt{e}
	}
	var regular Alt
	for _, e := range list {
		if r.IsRegular(e) {
			regular = append(regular, e)
			continue
		}
		rhs, err := r.sequence(e)
		if err != nil {
			return err
		}
		r.b.Add(n, rhs...)
	}
	if len(regular) == 0 {
		return nil
	}
	s, err := r.symbol(regular)
	r.b.Add(n, s)
	return err
}

func (r *Rules) sequence(e Expr) ([]cfg.Symbol, error) {
	list, ok := e.(Seq)
	if !ok {
		s, err := r.symbol(e)
		return []cfg.Symbol{s}, err
	}
	var out []cfg.Symbol
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && r.IsRegular(list[j]) {
			j++
		}
		part := Expr(list[i])
		if j > i {
			part = list[i:j]
		} else {
			j++
		}
		s, err := r.symbol(part)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		i = j
	}
	return out, nil
}
