package earley

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
)

// Rows that are not in the table.
const (
	none     = int32(-1)
	self     = int32(-2) // the row that the item is in
	accepted = int32(-3) // the return of the start symbol
)

// item is a dotted rule; its end completes nt as begun in row.
type item struct {
	dot, nt, row int32
}

func compareItems(a, b item) int {
	return cmp.Or(cmp.Compare(a.dot, b.dot), cmp.Compare(a.nt, b.nt), cmp.Compare(a.row, b.row))
}

// group is the items [from, to) of a row's list that stand before one symbol,
// with the dot moved over it.
type group struct {
	symbol   cfg.Symbol
	from, to int32
}

// row is an Earley set, reduced to what later rows ask of it.
type row struct {
	accept  bool
	core    []item // what identifies the row, with accept
	items   []item
	waiting []group // by nonterminal, sorted
	scan    []group // by terminal, sorted by index
}

func find(groups []group, s cfg.Symbol) (group, bool) {
	i, ok := slices.BinarySearchFunc(groups, s, func(g group, s cfg.Symbol) int { return cmp.Compare(g.symbol, s) })
	if !ok {
		return group{}, false
	}
	return groups[i], true
}

// maxTails is how many returns the items of one nonterminal may take over in
// one row, see the package comment.
const maxTails = 4

// scratch is what computing a row needs; it is cleared and used again.
type scratch struct {
	seen      map[item]struct{}
	work      []item
	completed map[[2]int32]struct{}
	predicted map[[3]int32]struct{}
	tails     map[int32]int32
	before    []pending
	core      []item
	key       []byte
}

// pending is an item that stands before a symbol.
type pending struct {
	symbol cfg.Symbol
	item   item // with the dot moved over it
}

func (x *scratch) init() {
	x.seen = map[item]struct{}{}
	x.completed = map[[2]int32]struct{}{}
	x.predicted = map[[3]int32]struct{}{}
	x.tails = map[int32]int32{}
}

func (x *scratch) reset() {
	clear(x.seen)
	clear(x.completed)
	clear(x.predicted)
	clear(x.tails)
	x.work, x.before, x.core = x.work[:0], x.before[:0], x.core[:0]
}

func (x *scratch) add(it item) {
	if _, ok := x.seen[it]; !ok {
		x.seen[it] = struct{}{}
		x.work = append(x.work, it)
	}
}

func appendInts(key []byte, list ...int32) []byte {
	for _, v := range list {
		key = append(key, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return key
}

func (x *scratch) keyOf(items []item) []byte {
	x.key = x.key[:0]
	for _, it := range items {
		x.key = appendInts(x.key, it.dot, it.nt, it.row)
	}
	return x.key
}

// rowOf returns the row that begins with the items of kernel, which it sorts.
func (a *Automaton) rowOf(kernel []item) (int32, error) {
	slices.SortFunc(kernel, compareItems)
	kernel = slices.Compact(kernel)
	x := &a.scratch
	if id, ok := a.kernels[string(x.keyOf(kernel))]; ok {
		return id, nil
	}
	if a.bytes+a.set.Bytes() > a.limits.Bytes {
		return 0, ErrFull
	}
	kernelKey := string(x.key)
	accept, err := a.close(kernel)
	if err != nil {
		return 0, err
	}
	// Rows that agree in the items which rules go on with are the same row:
	// what was predicted follows from these, and what is complete has had its
	// effect.
	id := a.rowOfCore(accept)
	a.kernels[kernelKey] = id
	a.bytes += len(kernelKey) + 64
	return id, nil
}

// rowOfCore returns the row that the scratch space holds.
func (a *Automaton) rowOfCore(accept bool) int32 {
	x := &a.scratch
	slices.SortFunc(x.core, compareItems)
	key := x.keyOf(x.core)
	if accept {
		key = append(key, 1)
	}
	id, ok := a.cores[string(key)]
	if !ok {
		id = int32(len(a.rows))
		a.cores[string(key)] = id
		a.rows = append(a.rows, x.build(accept))
		a.bytes += 2*len(key) + 24*len(x.before) + 300
	}
	return id
}

// close computes everything that follows from kernel within its row, into the
// scratch space.
func (a *Automaton) close(kernel []item) (accept bool, err error) {
	x := &a.scratch
	x.reset()
	for _, it := range kernel {
		x.add(it)
	}
	for i := 0; i < len(x.work); i++ {
		if i > a.limits.Items {
			return false, ErrTooWide
		}
		it := x.work[i]
		symbol := a.next[it.dot]
		if symbol != end && symbol != behind && it.row != self && !a.isStart[it.dot] {
			x.core = append(x.core, it)
		}
		over := item{it.dot + 1, it.nt, it.row}
		switch {
		case symbol == end:
			if it.row == accepted {
				accept = true
			} else if it.row != self {
				a.complete(it.nt, it.row)
			}
		case symbol >= choose:
			a.inBag(it, symbol)
		case symbol.IsTerminal():
			x.before = append(x.before, pending{symbol, over})
		default:
			n := int32(symbol)
			if b := a.bags[symbol]; b != nil {
				x.before = append(x.before, pending{symbol, over})
				a.begin(b)
			} else if a.next[over.dot] == end && a.mayShare(n, it.nt, it.row) {
				a.predict(n, it.nt, it.row)
			} else {
				x.before = append(x.before, pending{symbol, over})
				a.predict(n, n, self)
			}
			if a.g.Nullable[n] {
				x.add(over)
			}
		}
	}
	return accept, nil
}

// mayShare reports whether items of n may return straight to (nt, row).
func (a *Automaton) mayShare(n, nt, row int32) bool {
	x := &a.scratch
	if _, ok := x.predicted[[3]int32{n, nt, row}]; ok {
		return true
	}
	if x.tails[n] >= maxTails {
		return false
	}
	x.tails[n]++
	return true
}

func (a *Automaton) predict(n, nt, row int32) {
	x := &a.scratch
	key := [3]int32{n, nt, row}
	if _, ok := x.predicted[key]; ok {
		return
	}
	x.predicted[key] = struct{}{}
	for _, dot := range a.starts[n] {
		x.add(item{dot, nt, row})
	}
}

// complete moves on what waited in row for nt. Completions within the row that
// is being computed are of empty text, and were stepped over when predicted.
func (a *Automaton) complete(nt, row int32) {
	x := &a.scratch
	key := [2]int32{nt, row}
	if _, ok := x.completed[key]; ok {
		return
	}
	x.completed[key] = struct{}{}
	from := a.rows[row]
	if g, ok := find(from.waiting, cfg.Symbol(nt)); ok {
		for _, it := range from.items[g.from:g.to] {
			if it.row == self {
				it.row = row
			}
			x.add(it)
		}
	}
}

// build makes the row of the scratch space.
func (x *scratch) build(accept bool) *row {
	r := &row{accept: accept, core: slices.Clone(x.core), items: make([]item, len(x.before))}
	slices.SortFunc(x.before, func(a, b pending) int {
		return cmp.Or(cmp.Compare(a.symbol, b.symbol), compareItems(a.item, b.item))
	})
	for i, p := range x.before {
		r.items[i] = p.item
		list := &r.waiting
		if p.symbol.IsTerminal() {
			list = &r.scan
		}
		if n := len(*list); n > 0 && (*list)[n-1].symbol == p.symbol {
			(*list)[n-1].to++
		} else {
			*list = append(*list, group{p.symbol, int32(i), int32(i + 1)})
		}
	}
	return r
}

// advance adds to kernel the items of row behind a terminal.
func (a *Automaton) advance(kernel []item, row, terminal int32) []item {
	from := a.rows[row]
	g, _ := find(from.scan, ^cfg.Symbol(terminal))
	for _, it := range from.items[g.from:g.to] {
		if it.row == self {
			it.row = row
		}
		kernel = append(kernel, it)
	}
	return kernel
}
