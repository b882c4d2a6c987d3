package earley

import (
	"sort"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
)

// bag is a [cfg.Bag] and its dots. An item inside one has a state of the bag in
// place of a nonterminal; its end completes the bag as begun in the item's row.
type bag struct {
	symbol  cfg.Symbol
	rules   *cfg.Bag
	dots    int32   // before, then choose
	entries []int32 // the first dot of each entry, ascending
}

// bagState is a state that some text has led to. Items name it by its index in
// the automaton's list, counted from the number of nonterminals.
type bagState struct {
	bag     *bag
	state   cfg.BagState
	listed  bool
	allowed []int32 // the dots of the entries that may follow, once listed

	required int // what [cfg.BagLengths.Required] says; -1: not asked
}

type bagKey struct {
	symbol cfg.Symbol
	state  cfg.BagState
}

// newBag appends the dots of a bag.
func (a *Automaton) newBag(n cfg.Symbol, rules *cfg.Bag) *bag {
	b := &bag{symbol: n, rules: rules, dots: int32(len(a.next))}
	a.next = append(a.next, before, choose)
	for _, e := range rules.Entries {
		b.entries = append(b.entries, int32(len(a.next)))
		a.next = append(append(a.next, e.Symbols...), behind)
	}
	return b
}

// entryOf returns the entry that a dot is in.
func (b *bag) entryOf(dot int32) int {
	return sort.Search(len(b.entries), func(i int) bool { return b.entries[i] > dot }) - 1
}

// stateIn returns what items call a state of b.
func (a *Automaton) stateIn(b *bag, s cfg.BagState) int32 {
	key := bagKey{b.symbol, s}
	id, ok := a.stateOf[key]
	if !ok {
		id = int32(len(a.g.Names) + len(a.states))
		a.states = append(a.states, bagState{bag: b, state: s, required: -1})
		a.stateOf[key] = id
		a.bytes += len(b.entries)/8 + 200
	}
	return id
}

// stateAt returns the state that items call id.
func (a *Automaton) stateAt(id int32) *bagState { return &a.states[int(id)-len(a.g.Names)] }

// allowedIn returns the first dots of the entries that may follow a state.
func (a *Automaton) allowedIn(s *bagState) []int32 {
	if !s.listed {
		s.listed = true
		for i, dot := range s.bag.entries {
			if s.bag.rules.Allows(s.state, i) {
				s.allowed = append(s.allowed, dot)
			}
		}
		a.bytes += 4 * len(s.allowed)
	}
	return s.allowed
}

// begin adds what a bag begins with.
func (a *Automaton) begin(b *bag) {
	a.scratch.add(item{b.dots + 1, a.stateIn(b, b.rules.Start()), self})
}

// inBag handles an item whose dot is at one of the marks of a bag.
func (a *Automaton) inBag(it item, mark cfg.Symbol) {
	x := &a.scratch
	s := a.stateAt(it.nt)
	switch mark {
	case behind:
		next := s.bag.rules.Next(s.state, s.bag.entryOf(it.dot))
		x.add(item{s.bag.dots, a.stateIn(s.bag, next), it.row})
	case before:
		if s.bag.rules.CanEnd(s.state) {
			a.complete(int32(s.bag.symbol), it.row)
		}
		if len(a.allowedIn(s)) > 0 {
			x.before = append(x.before, pending{s.bag.rules.Separator, item{it.dot + 1, it.nt, it.row}})
		}
	case choose:
		for _, dot := range a.allowedIn(s) {
			x.add(item{dot, it.nt, it.row})
		}
	}
}
