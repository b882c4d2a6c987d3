package earley

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// Ending is the beginning of a shortest text that completes a configuration: a word that
// ends one of its terminals, or a special token.
type Ending struct {
	Word   string
	Token  int32 // -1: Word counts
	Length int   // of the whole text in bytes, a special token counting as one; 0: the text may end
}

// far is more than any length that is looked for.
const far = cfg.Far

// lengths are those of shortest texts, in bytes.
type lengths struct {
	after []int // of the symbols from each dot to the end of its rule or entry
	bags  map[cfg.Symbol]*cfg.BagLengths
	words map[regex.Term]word
}

// word is a shortest word of a term, if one was found.
type word struct {
	text  string
	found bool
}

// Ending returns how a shortest text that completes c begins. found is false if the grammar
// is too large to find one. Ask again after it for the rest of the text.
//
// Lazy terminals are not looked at. Where one ends, it ends others with it: then the word is
// allowed up to there only, at least its first byte, and the text becomes longer.
//
// The first call computes the lengths of all symbols, which takes up to seconds for a large
// grammar, under the lock of the automaton. The error is [ErrFull].
func (a *Automaton) Ending(c *Config) (e Ending, found bool, err error) {
	if c.CanEnd() {
		return Ending{Token: -1}, true, nil
	}
	a.mu.Lock()
	defer a.unlock()
	if a.lengths == nil {
		if err := a.measure(); err != nil {
			return Ending{}, false, err
		}
	}
	options, err := a.options(c)
	if err != nil {
		return Ending{}, false, err
	}
	e, found = a.nearest(options)
	return e, found, nil
}

// word looks for a shortest word of t.
func (a *Automaton) word(t regex.Term) (word, error) {
	w, known := a.lengths.words[t]
	if known {
		return w, nil
	}
	if a.bytes+a.set.Bytes() > a.limits.Bytes {
		return w, ErrFull
	}
	var err error
	w.text, w.found, err = a.set.Witness(t)
	if a.set.Err() != nil {
		return w, ErrFull
	}
	w.found = w.found && err == nil && len(w.text) < far
	a.lengths.words[t] = w
	a.bytes += len(w.text) + 80
	return w, nil
}

// measure computes the lengths of all symbols.
func (a *Automaton) measure() error {
	a.lengths = &lengths{words: map[regex.Term]word{}}
	ofTerminal := make([]int, len(a.g.Terminals))
	for i, t := range a.g.Terminals {
		ofTerminal[i] = 1
		if t.Token >= 0 {
			continue
		}
		w, err := a.word(t.Term)
		if err != nil {
			a.lengths = nil
			return err
		}
		if ofTerminal[i] = len(w.text); !w.found {
			ofTerminal[i] = far
		}
	}
	of := a.shortest(ofTerminal)
	after := make([]int, len(a.next))
	for dot := len(a.next) - 1; dot >= 0; dot-- {
		switch s := a.next[dot]; {
		case s >= choose: // what follows an entry depends on the state of its bag
		case s.IsTerminal():
			after[dot] = min(far, ofTerminal[^s]+after[dot+1])
		default:
			after[dot] = min(far, of[s]+after[dot+1])
		}
	}
	a.lengths.after = after
	a.bytes += 8 * len(after)
	return nil
}

// shortest returns the length of the shortest text of each nonterminal (Knuth's
// generalisation of Dijkstra's algorithm: the shortest of all that is left is final). An
// entry of a bag counts as a rule for a nonterminal of its own, behind all others.
func (a *Automaton) shortest(ofTerminal []int) []int {
	type entry struct {
		bag   *bag
		index int
	}
	rules := slices.Clip(a.g.Rules)
	var entries []entry
	a.lengths.bags = map[cfg.Symbol]*cfg.BagLengths{}
	for _, b := range a.bags {
		if b == nil {
			continue
		}
		for i, e := range b.rules.Entries {
			rules = append(rules, cfg.Rule{LHS: cfg.Symbol(len(a.bags) + len(entries)), RHS: e.Symbols})
			entries = append(entries, entry{b, i})
		}
		l := cfg.NewBagLengths(b.rules, ofTerminal[^b.rules.Separator])
		a.lengths.bags[b.symbol] = l
		a.bytes += l.Bytes()
	}
	of := make([]int, len(a.bags)+len(entries))
	for i := range of {
		of[i] = far
	}
	var queue places
	found := func(n cfg.Symbol, length int) {
		if length < of[n] {
			of[n] = length
			heap.Push(&queue, place{length: length, nt: int32(n)})
		}
	}
	length, missing := make([]int, len(rules)), make([]int, len(rules))
	uses := make([][]int32, len(of))
	for i, r := range rules {
		for _, s := range r.RHS {
			if s.IsTerminal() {
				length[i] = min(far, length[i]+ofTerminal[^s])
			} else {
				uses[s] = append(uses[s], int32(i))
				missing[i]++
			}
		}
		if missing[i] == 0 {
			found(r.LHS, length[i])
		}
	}
	for n, l := range a.lengths.bags {
		found(n, l.Least())
	}
	done := make([]bool, len(of))
	for len(queue) > 0 {
		p := heap.Pop(&queue).(place)
		if done[p.nt] {
			continue
		}
		done[p.nt] = true
		if i := int(p.nt) - len(a.bags); i >= 0 {
			symbol := entries[i].bag.symbol
			if l := a.lengths.bags[symbol]; l.Add(entries[i].index, p.length) {
				found(symbol, l.Least())
			}
		}
		for _, rule := range uses[p.nt] {
			length[rule] = min(far, length[rule]+p.length)
			if missing[rule]--; missing[rule] == 0 {
				found(rules[rule].LHS, length[rule])
			}
		}
	}
	return of[:len(a.bags)]
}

// rest returns the length of what completes the nonterminal of an item, and that nonterminal.
func (a *Automaton) rest(it item) (length int, nt int32) {
	length = a.lengths.after[it.dot]
	if int(it.nt) < len(a.bags) {
		return length, it.nt
	}
	s := a.stateAt(it.nt)
	l := a.lengths.bags[s.bag.symbol]
	if s.required < 0 {
		s.required = l.Required(s.state)
	}
	if a.next[it.dot] == choose {
		length = l.Chosen(s.state, s.required)
	} else {
		length += l.After(s.state, s.required, s.bag.entryOf(it.dot))
	}
	return length, int32(s.bag.symbol)
}

// option is a way on from a configuration.
type option struct {
	Ending
	row      int32
	terminal int32
}

// options returns the ways on from c, in an order that depends on what they say only.
func (a *Automaton) options(c *Config) ([]option, error) {
	var list []option
	for _, t := range c.threads {
		if a.set.Nullable(t.term) {
			continue // what follows its end has begun
		}
		w, err := a.word(t.term)
		if err != nil {
			return nil, err
		}
		if w.found {
			list = append(list, option{Ending{Word: w.text, Token: -1, Length: len(w.text)}, t.row, t.terminal})
		}
	}
	for _, e := range c.tokens {
		list = append(list, option{Ending{Token: e.token, Length: 1}, c.fresh, e.terminal})
	}
	slices.SortStableFunc(list, func(a, b option) int {
		return cmp.Or(strings.Compare(a.Word, b.Word), cmp.Compare(a.Token, b.Token))
	})
	return list, nil
}

// nearest finds the option with the shortest text, the first one of several.
func (a *Automaton) nearest(options []option) (Ending, bool) {
	var queue places
	push := func(r *row, id int32, g group, length, rank int) {
		for _, it := range r.items[g.from:g.to] {
			if it.row == self {
				it.row = id
			}
			rest, nt := a.rest(it)
			if all := length + rest; all < far {
				heap.Push(&queue, place{all, rank, nt, it.row})
			}
		}
	}
	for rank, o := range options {
		r := a.rows[o.row]
		g, _ := find(r.scan, ^cfg.Symbol(o.terminal))
		push(r, o.row, g, o.Length, rank)
	}
	done := map[[2]int32]bool{}
	for len(queue) > 0 {
		p := heap.Pop(&queue).(place)
		if p.row == accepted {
			e := options[p.rank].Ending
			e.Length = p.length
			return e, true
		}
		if key := [2]int32{p.nt, p.row}; !done[key] {
			done[key] = true
			r := a.rows[p.row]
			g, _ := find(r.waiting, cfg.Symbol(p.nt))
			push(r, p.row, g, p.length, p.rank)
		}
	}
	return Ending{}, false
}

// place is a nonterminal that is complete, as begun in row, after length bytes.
type place struct {
	length, rank int
	nt, row      int32
}

// places is a heap with the shortest on top.
type places []place

func (p places) Len() int { return len(p) }
func (p places) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(p[i].length, p[j].length), cmp.Compare(p[i].rank, p[j].rank)) < 0
}
func (p places) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *places) Push(x any)   { *p = append(*p, x.(place)) }
func (p *places) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	*p = (*p)[:last]
	return x
}
