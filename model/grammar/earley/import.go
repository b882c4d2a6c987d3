package earley

import (
	"slices"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// Fresh returns an automaton of the same grammar with empty tables.
func (a *Automaton) Fresh() (*Automaton, error) {
	a.mu.Lock()
	defer a.unlock()
	g := *a.g
	g.Set = regex.NewSet(a.set.Limits())
	terms := make([]regex.Term, len(g.Terminals))
	for i, t := range g.Terminals {
		terms[i] = t.Term
	}
	terms, err := g.Set.Copy(a.set, terms)
	if err != nil {
		return nil, err
	}
	g.Terminals = slices.Clone(g.Terminals)
	for i := range terms {
		g.Terminals[i].Term = terms[i]
	}
	return New(&g, a.limits)
}

// Import returns the configuration of a that is c of from. from must have come
// from the same grammar, by Fresh or the other way round.
func (a *Automaton) Import(from *Automaton, c *Config) (*Config, error) {
	from.mu.Lock()
	defer from.unlock()
	a.mu.Lock()
	defer a.unlock()
	to := map[int32]int32{none: none, self: self, accepted: accepted}
	if err := a.importRows(from, c, to); err != nil {
		return nil, err
	}
	terms := make([]regex.Term, len(c.threads))
	for i, t := range c.threads {
		terms[i] = t.term
	}
	terms, err := a.set.Copy(from.set, terms)
	if err != nil {
		return nil, ErrFull
	}
	threads := make([]thread, len(terms))
	for i, t := range c.threads {
		threads[i] = thread{to[t.row], t.terminal, terms[i]}
	}
	return a.config(to[c.fresh], threads)
}

// importRows builds the rows that c refers to, directly or not.
func (a *Automaton) importRows(from *Automaton, c *Config, to map[int32]int32) error {
	needed := map[int32]bool{}
	var list []int32
	need := func(id int32) {
		if id >= 0 && !needed[id] {
			needed[id] = true
			list = append(list, id)
		}
	}
	need(c.fresh)
	for _, t := range c.threads {
		need(t.row)
	}
	for i := 0; i < len(list); i++ {
		for _, it := range from.rows[list[i]].core {
			need(it.row)
		}
	}
	slices.Sort(list) // a row refers to older ones only
	for _, id := range list {
		if a.bytes+a.set.Bytes() > a.limits.Bytes {
			return ErrFull
		}
		old := from.rows[id]
		kernel := slices.Clone(old.core)
		for i := range kernel {
			kernel[i].row = to[kernel[i].row]
			if int(kernel[i].nt) >= len(from.g.Names) {
				s := from.stateAt(kernel[i].nt)
				kernel[i].nt = a.stateIn(a.bags[s.bag.symbol], s.state)
			}
		}
		if _, err := a.close(kernel); err != nil {
			return err
		}
		to[id] = a.rowOfCore(old.accept)
	}
	return nil
}
