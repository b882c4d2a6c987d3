// Package cfg builds context-free grammars whose terminals are regular
// languages over bytes, or special tokens of a vocabulary.
//
// There is no lexer: the language of a grammar is exactly what its rules and
// the languages of its terminals say, wherever one terminal could end and the
// next begin. [Builder.Build] takes out what can produce no text, so that every
// beginning which a recogniser accepts can be completed, and refuses a grammar
// without any text.
//
// A nonterminal has rules, or it is a [Bag]: entries in any order, which rules
// could say only with a nonterminal for each set of entries.
//
// Write lists left-recursively (list → list "," item): a recogniser then comes
// back to the same state after each item.
package cfg

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// Symbol is a nonterminal (not negative) or a terminal (negative) of a grammar.
type Symbol int32

// IsTerminal reports whether s is one. Its index is then ^s.
func (s Symbol) IsTerminal() bool { return s < 0 }

// Terminal is a regular language, or a special token.
type Terminal struct {
	Term  regex.Term // unused for a token
	Token int32      // id in the vocabulary; -1 for a regular language
	// Lazy: where this terminal ends, every other one that began in the same
	// place is given up. It is how a call that begins in the middle of free
	// text is told from that text.
	Lazy bool
}

// Rule is one alternative of a nonterminal.
type Rule struct {
	LHS Symbol
	RHS []Symbol
}

// Limits bound a grammar. They are hard.
type Limits struct {
	// Symbols is the maximum of all rules together, each counted as the
	// symbols of its right side plus one. Zero: 2,000,000.
	Symbols int
}

// ErrLimit is the failure of a builder that would outgrow its limits.
var ErrLimit = errors.New("the grammar has too many rules")

// EmptyError is a grammar that has no text at all.
type EmptyError struct{}

func (*EmptyError) Error() string { return "no text satisfies the grammar" }

// Grammar is a finished grammar. It is immutable, apart from its set of terms.
type Grammar struct {
	// Set holds the terms of the terminals. Whoever uses it owns it.
	Set       *regex.Set
	Terminals []Terminal // none matches the empty string, none is empty
	Rules     []Rule     // ordered by LHS, then as added
	// First is the index of the first rule of each nonterminal, and one more
	// entry: the rules of n are [First[n], First[n+1]).
	First []int32
	// Bags are the nonterminals that have no rules, but entries in any order.
	Bags     map[Symbol]*Bag
	Nullable []bool   // by nonterminal
	Names    []string // by nonterminal
	Start    Symbol
}

// Builder collects rules. Its failures are sticky and come out of Build.
type Builder struct {
	// Set makes the terms of this grammar's terminals.
	Set *regex.Set

	limits   Limits
	size     int
	err      error
	names    []string
	rules    []Rule
	bags     map[Symbol]*Bag
	terms    []Terminal
	byTerm   map[regex.Term]Symbol
	byLazy   map[regex.Term]Symbol
	byToken  map[int32]Symbol
	optional map[Symbol]Symbol
	star     map[Symbol]Symbol
	byLHS    map[Symbol][]int // of the first rules
	indexed  int              // how many these are
}

// New returns an empty builder of terminals in set.
func New(set *regex.Set, limits Limits) *Builder {
	if limits.Symbols == 0 {
		limits.Symbols = 2_000_000
	}
	return &Builder{Set: set, limits: limits, byTerm: map[regex.Term]Symbol{}, byLazy: map[regex.Term]Symbol{}, byToken: map[int32]Symbol{},
		bags: map[Symbol]*Bag{}, optional: map[Symbol]Symbol{}, star: map[Symbol]Symbol{}, byLHS: map[Symbol][]int{}}
}

// Err is nil, or why Build will fail.
func (b *Builder) Err() error {
	if b.err == nil {
		b.err = b.Set.Err()
	}
	return b.err
}

// Nonterminal returns a new nonterminal. Names are for people and need not
// differ. One without rules produces nothing.
func (b *Builder) Nonterminal(name string) Symbol {
	b.grow(1)
	if b.err != nil {
		return 0
	}
	b.names = append(b.names, name)
	return Symbol(len(b.names) - 1)
}

// Terminal returns the symbol of a regular language. It may hold the empty
// string.
func (b *Builder) Terminal(t regex.Term) Symbol {
	if s, ok := b.byTerm[t]; ok {
		return s
	}
	s := b.newTerminal(Terminal{Term: t, Token: -1})
	b.byTerm[t] = s
	return s
}

// Lazy returns the symbol of a terminal that ends at its first end: of t, the
// strings count that have no shorter string of t as their beginning. See
// [Terminal] for what else it means.
func (b *Builder) Lazy(t regex.Term) Symbol {
	t = b.Set.And(t, b.Set.Not(b.Set.Concat(t, b.Set.Repeat(b.Set.OneOf(regex.AllBytes), 1, regex.Unbounded))))
	s, ok := b.byLazy[t]
	if !ok {
		s = b.newTerminal(Terminal{Term: t, Token: -1, Lazy: true})
		b.byLazy[t] = s
	}
	return s
}

// Literal is the terminal of text alone.
func (b *Builder) Literal(text string) Symbol { return b.Terminal(b.Set.Literal(text)) }

// Token returns the symbol of a special token.
func (b *Builder) Token(id int32) Symbol {
	if s, ok := b.byToken[id]; ok {
		return s
	}
	s := b.newTerminal(Terminal{Token: id})
	b.byToken[id] = s
	return s
}

func (b *Builder) newTerminal(t Terminal) Symbol {
	b.grow(1)
	b.terms = append(b.terms, t)
	return ^Symbol(len(b.terms) - 1)
}

// Add adds the rule lhs → rhs. rhs is copied.
func (b *Builder) Add(lhs Symbol, rhs ...Symbol) {
	b.grow(len(rhs) + 1)
	if b.err != nil {
		return
	}
	b.rules = append(b.rules, Rule{lhs, append([]Symbol(nil), rhs...)})
}

func (b *Builder) grow(n int) {
	if b.size += n; b.size > b.limits.Symbols && b.err == nil {
		b.err = ErrLimit
	}
}

// Sequence returns a symbol for the symbols in order.
func (b *Builder) Sequence(list ...Symbol) Symbol {
	if len(list) == 1 {
		return list[0]
	}
	n := b.Nonterminal("sequence")
	b.Add(n, list...)
	return n
}

// Choice returns a symbol for any one of list.
func (b *Builder) Choice(list ...Symbol) Symbol {
	if len(list) == 1 {
		return list[0]
	}
	n := b.Nonterminal("choice")
	for _, s := range list {
		b.Add(n, s)
	}
	return n
}

// Optional returns a symbol for s or nothing.
func (b *Builder) Optional(s Symbol) Symbol {
	if n, ok := b.optional[s]; ok {
		return n
	}
	n := b.Nonterminal("optional")
	b.Add(n)
	b.Add(n, s)
	b.optional[s] = n
	return n
}

// Repeat returns a symbol for between min and max of s, one after the other;
// max < 0: without a maximum.
//
// What has been counted so far is a nonterminal of its own (exactly n → exactly
// n-1, s), so that a recogniser keeps one position in the count and not one for
// each way to reach the end.
func (b *Builder) Repeat(s Symbol, min, max int) Symbol {
	switch {
	case min == 1 && max == 1:
		return s
	case min == 0 && max == 1:
		return b.Optional(s)
	case min == 0 && max < 0:
		if n, ok := b.star[s]; ok {
			return n
		}
	}
	n := b.Nonterminal("repeat")
	if max >= 0 && max < min {
		return n
	}
	if max < 0 {
		exactly := b.exactly(s, min, nil)
		if min > 0 {
			b.Add(n, exactly)
		} else {
			b.Add(n)
			b.star[s] = n
		}
		b.Add(n, n, s)
		return n
	}
	if min == 0 {
		b.Add(n)
	}
	b.exactly(s, max, func(count int, symbol Symbol) {
		if count >= min {
			b.Add(n, symbol)
		}
	})
	return n
}

// exactly returns a symbol for count of s, and tells each of 1 to count.
func (b *Builder) exactly(s Symbol, count int, each func(int, Symbol)) Symbol {
	last := s
	for i := 1; i <= count && b.err == nil; i++ {
		if i > 1 {
			next := b.Nonterminal("count")
			b.Add(next, last, s)
			last = next
		}
		if each != nil {
			each(i, last)
		}
	}
	return last
}

// Error is a grammar's source that cannot be taken.
type Error struct {
	At     string // "line 3, column 7", or a JSON pointer; may be empty
	Reason string
	Remedy string // what to write in its place; may be empty
}

func (e *Error) Error() string {
	text := e.Reason
	if e.At != "" {
		text = e.At + ": " + text
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Errorf returns an [*Error] at a byte of source.
func Errorf(source string, at int, format string, args ...any) *Error {
	return &Error{At: Position(source, at), Reason: fmt.Sprintf(format, args...)}
}

// Position names a byte of source by line and column, both from 1; columns are
// counted in bytes.
func Position(source string, at int) string {
	line, column := 1, 1
	for i := 0; i < at && i < len(source); i++ {
		if column++; source[i] == '\n' {
			line, column = line+1, 1
		}
	}
	return fmt.Sprintf("line %d, column %d", line, column)
}
