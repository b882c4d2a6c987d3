package cfg

import (
	"errors"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// ErrNotText is the failure to respell what is not made of texts alone.
var ErrNotText = errors.New("it names a special token")

// Respell returns a symbol for the texts of start with the terms of all terminals replaced by what term says.
// The error is [ErrNotText] where special tokens are named. Rules that are added to
// what start refers to later do not count.
func (b *Builder) Respell(start Symbol, term func(regex.Term) regex.Term) (Symbol, error) {
	for ; b.indexed < len(b.rules); b.indexed++ {
		lhs := b.rules[b.indexed].LHS
		b.byLHS[lhs] = append(b.byLHS[lhs], b.indexed)
	}
	to := map[Symbol]Symbol{}
	var queue []Symbol
	var err error
	visit := func(list ...Symbol) []Symbol {
		out := make([]Symbol, len(list))
		for i, s := range list {
			if known, ok := to[s]; ok {
				out[i] = known
				continue
			}
			switch {
			case !s.IsTerminal():
				out[i] = b.Nonterminal(b.nameOf(s))
				queue = append(queue, s)
			case b.terms[^s].Token >= 0:
				err = ErrNotText
			case b.terms[^s].Lazy:
				out[i] = b.newTerminal(Terminal{Term: term(b.terms[^s].Term), Token: -1, Lazy: true})
			default:
				out[i] = b.Terminal(term(b.terms[^s].Term))
			}
			to[s] = out[i]
		}
		return out
	}
	first := visit(start)[0]
	for len(queue) > 0 && err == nil && b.Err() == nil {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, r := range b.byLHS[n] {
			b.Add(to[n], visit(b.rules[r].RHS...)...)
		}
		if bag := b.bags[n]; bag != nil {
			next := *bag
			next.Separator = visit(bag.Separator)[0]
			next.Entries = nil
			for _, e := range bag.Entries {
				e.Symbols = visit(e.Symbols...)
				next.Entries = append(next.Entries, e)
			}
			b.bags[to[n]] = &next
		}
	}
	return first, err
}

func (b *Builder) nameOf(n Symbol) string {
	if int(n) < len(b.names) {
		return b.names[n]
	}
	return ""
}
