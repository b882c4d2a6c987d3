package cfg

import (
	"slices"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// Build finishes the grammar of start. Rules that can produce nothing and
// symbols that cannot be reached are left out, and terminals that match the
// empty string become optional. The error is an [*EmptyError], [ErrLimit], or a
// failure of the set. The builder must not be used again.
func (b *Builder) Build(start Symbol) (*Grammar, error) {
	if b.Err() != nil {
		return nil, b.err
	}
	if start.IsTerminal() {
		n := b.Nonterminal("start")
		b.Add(n, start)
		start = n
	}
	usable, err := b.splitEmpty()
	if err != nil {
		return nil, err
	}
	productive := b.productive(usable)
	if !productive[start] {
		return nil, &EmptyError{}
	}
	dead := func(list []Symbol) bool {
		return slices.ContainsFunc(list, func(s Symbol) bool {
			return s.IsTerminal() && !usable[^s] || !s.IsTerminal() && !productive[s]
		})
	}
	b.rules = slices.DeleteFunc(b.rules, func(r Rule) bool { return dead(r.RHS) })
	for _, bag := range b.bags {
		bag.Entries = slices.DeleteFunc(bag.Entries, func(e Entry) bool { return dead(e.Symbols) })
		bag.finish(func(int) bool { return true })
	}
	g := b.renumber(start)
	g.Nullable = g.nullable()
	for _, bag := range g.Bags {
		for _, e := range bag.Entries {
			if !slices.ContainsFunc(e.Symbols, func(s Symbol) bool { return s.IsTerminal() || !g.Nullable[s] }) {
				panic("cfg: an entry of a bag produces the empty text")
			}
		}
	}
	return g, nil
}

// splitEmpty replaces terminals with the empty string by an optional terminal
// without it, and reports which terminals match anything.
func (b *Builder) splitEmpty() (usable []bool, err error) {
	replace := map[Symbol]Symbol{}
	for i := range b.terms { // grows: what is added is not nullable
		t := b.terms[i]
		if t.Token >= 0 || !b.Set.Nullable(t.Term) {
			continue
		}
		n := b.Nonterminal("text")
		b.Add(n)
		if rest := b.Set.NotEmpty(t.Term); rest != regex.Nothing {
			b.Add(n, b.Terminal(rest))
		}
		replace[^Symbol(i)] = n
	}
	each := func(list []Symbol) {
		for i, s := range list {
			if n, ok := replace[s]; ok {
				list[i] = n
			}
		}
	}
	for _, r := range b.rules {
		each(r.RHS)
	}
	for _, bag := range b.bags {
		for _, e := range bag.Entries {
			each(e.Symbols)
		}
	}
	usable = make([]bool, len(b.terms))
	for i, t := range b.terms {
		if t.Token < 0 {
			empty, err := b.Set.IsEmpty(t.Term)
			if err != nil {
				return nil, err
			}
			usable[i] = !empty
		} else {
			usable[i] = true
		}
	}
	return usable, b.Err()
}

// closure marks nonterminals that have a rule whose symbols are all marked,
// until nothing changes. Each rule is looked at once for each of its symbols.
// What begin marks is marked too; begin may keep mark and call it in after,
// which is told of each nonterminal that is marked.
func closure(names int, rules []Rule, terminal func(Symbol) bool, begin func(mark func(Symbol)), after func(Symbol)) []bool {
	marked := make([]bool, names)
	missing := make([]int, len(rules))
	uses := make([][]int32, names)
	var queue []Symbol
	mark := func(n Symbol) {
		if !marked[n] {
			marked[n] = true
			queue = append(queue, n)
		}
	}
	begin(mark)
	for i, r := range rules {
		for _, s := range r.RHS {
			if !s.IsTerminal() {
				uses[s] = append(uses[s], int32(i))
				missing[i]++
			} else if !terminal(s) {
				missing[i] += len(r.RHS) + 1 // never
			}
		}
		if missing[i] == 0 {
			mark(r.LHS)
		}
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		after(n)
		for _, i := range uses[n] {
			if missing[i]--; missing[i] == 0 {
				mark(rules[i].LHS)
			}
		}
	}
	return marked
}

// productive marks the nonterminals that have a text. An entry of a bag counts
// as a rule for a nonterminal of its own, behind all others.
func (b *Builder) productive(usable []bool) []bool {
	type place struct {
		bag   Symbol
		entry int
	}
	var places []place
	rules := slices.Clone(b.rules)
	for n, bag := range b.bags {
		for i, e := range bag.Entries {
			rules = append(rules, Rule{Symbol(len(b.names) + len(places)), e.Symbols})
			places = append(places, place{n, i})
		}
	}
	alive := make(map[Symbol][]bool, len(b.bags))
	done := make(map[Symbol]bool, len(b.bags))
	missing := make(map[Symbol]int, len(b.bags)) // required entries that are not alive
	var mark func(Symbol)
	judge := func(n Symbol) {
		if done[n] || missing[n] > 0 {
			return
		}
		bag := b.bags[n]
		bag.finish(func(entry int) bool { return alive[n][entry] })
		if bag.possible() {
			done[n] = true
			mark(n)
		}
	}
	begin := func(m func(Symbol)) {
		mark = m
		for n, bag := range b.bags {
			alive[n] = make([]bool, len(bag.Entries))
			for _, e := range bag.Entries {
				if e.Required {
					missing[n]++
				}
			}
			judge(n)
		}
	}
	after := func(n Symbol) {
		if i := int(n) - len(b.names); i >= 0 {
			p := places[i]
			alive[p.bag][p.entry] = true
			if b.bags[p.bag].Entries[p.entry].Required {
				missing[p.bag]--
			}
			judge(p.bag)
		}
	}
	terminal := func(s Symbol) bool { return usable[^s] }
	return closure(len(b.names)+len(places), rules, terminal, begin, after)[:len(b.names)]
}

func (g *Grammar) nullable() []bool {
	begin := func(mark func(Symbol)) {
		for n, bag := range g.Bags {
			if bag.CanEnd(bag.Start()) {
				mark(n)
			}
		}
	}
	return closure(len(g.Names), g.Rules, func(Symbol) bool { return false }, begin, func(Symbol) {})
}

// renumber keeps what start can reach, in order of first use.
func (b *Builder) renumber(start Symbol) *Grammar {
	byLHS := make([][]int32, len(b.names))
	for i, r := range b.rules {
		byLHS[r.LHS] = append(byLHS[r.LHS], int32(i))
	}
	g := &Grammar{Set: b.Set, Bags: map[Symbol]*Bag{}}
	to := map[Symbol]Symbol{}
	var queue []Symbol
	visit := func(s Symbol) Symbol {
		n, ok := to[s]
		switch {
		case ok:
		case s.IsTerminal():
			n = ^Symbol(len(g.Terminals))
			g.Terminals = append(g.Terminals, b.terms[^s])
			to[s] = n
		default:
			n = Symbol(len(g.Names))
			g.Names = append(g.Names, b.names[s])
			queue = append(queue, s)
			to[s] = n
		}
		return n
	}
	g.Start = visit(start)
	for i := 0; i < len(queue); i++ {
		g.First = append(g.First, int32(len(g.Rules)))
		if bag := b.bags[queue[i]]; bag != nil {
			bag.Separator = visit(bag.Separator)
			for _, e := range bag.Entries {
				for j, s := range e.Symbols {
					e.Symbols[j] = visit(s)
				}
			}
			g.Bags[Symbol(i)] = bag
		}
		seen := map[string]bool{}
		for _, r := range byLHS[queue[i]] {
			rule := b.rules[r]
			for j, s := range rule.RHS {
				rule.RHS[j] = visit(s)
			}
			rule.LHS = Symbol(i)
			if len(rule.RHS) == 1 && rule.RHS[0] == rule.LHS {
				continue // n → n says nothing
			}
			if key := keyOf(rule.RHS); !seen[key] {
				seen[key] = true
				g.Rules = append(g.Rules, rule)
			}
		}
	}
	g.First = append(g.First, int32(len(g.Rules)))
	return g
}

func keyOf(list []Symbol) string {
	key := make([]byte, 0, 4*len(list))
	for _, s := range list {
		key = append(key, byte(s), byte(s>>8), byte(s>>16), byte(s>>24))
	}
	return string(key)
}
