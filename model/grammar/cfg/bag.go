package cfg

import "slices"

// Bag describes texts that are entries in any order, with a separator between
// two of them. Written as rules, n entries that may each come once need 2^n
// nonterminals. So a bag has no rules: a recogniser asks [Bag.Start] and
// [Bag.Next], and meets only the states that its texts lead to.
type Bag struct {
	Separator Symbol // a terminal
	Entries   []Entry
	// Demands is how many demands there are. Each must be met by some entry.
	Demands int
	// Min and Max bound the number of entries. Max < 0: there is no maximum.
	Min, Max int

	required, optional int32   // entries that come at most once
	repeats            bool    // there is an entry that may come again
	cover              []int32 // by set of demands: how many entries meet all of them
}

// Entry is one kind of entry of a bag. Its symbols must not produce the empty
// text.
type Entry struct {
	Symbols  []Symbol
	Required bool   // it must come
	Repeats  bool   // it may come more than once; then it is not required
	Meets    uint32 // the demands that it meets, as bits; only if it repeats
}

// BagState is what matters of the entries so far. States compare with ==.
type BagState struct {
	seen               string // bits, of entries that come at most once
	required, optional int32  // those that have not come
	count              int32  // of all entries, as far as it matters
	met                uint32 // demands
}

// Bag returns a new nonterminal for the texts of a bag, which is copied.
func (b *Builder) Bag(name string, bag Bag) Symbol {
	n := b.Nonterminal(name)
	bag.Entries = slices.Clone(bag.Entries)
	for i := range bag.Entries {
		b.grow(len(bag.Entries[i].Symbols) + 1)
		bag.Entries[i].Symbols = slices.Clone(bag.Entries[i].Symbols)
	}
	if b.err == nil {
		b.bags[n] = &bag
	}
	return n
}

// never is more entries than any bag has.
const never = 1 << 30

// finish works out what the methods need, of the entries that alive admits.
func (b *Bag) finish(alive func(entry int) bool) {
	b.required, b.optional = 0, 0
	var repeating []int
	for i, e := range b.Entries {
		switch {
		case e.Required:
			b.required++
		case !alive(i):
		case e.Repeats:
			repeating = append(repeating, i)
		default:
			b.optional++
		}
	}
	b.repeats = len(repeating) > 0
	b.cover = make([]int32, 1<<b.Demands)
	for unmet := 1; unmet < len(b.cover); unmet++ {
		b.cover[unmet] = never
		for _, i := range repeating {
			if rest := unmet &^ int(b.Entries[i].Meets); rest != unmet {
				b.cover[unmet] = min(b.cover[unmet], b.cover[rest]+1)
			}
		}
	}
}

// possible reports whether the bag has a text.
func (b *Bag) possible() bool { return b.completable(b.Start()) }

// Start returns the state before the first entry.
func (b *Bag) Start() BagState {
	return BagState{seen: string(make([]byte, (len(b.Entries)+7)/8)), required: b.required, optional: b.optional}
}

// CanEnd reports whether the text may end after the entries so far.
func (b *Bag) CanEnd(s BagState) bool {
	return s.required == 0 && int(s.count) >= b.Min && s.met == 1<<b.Demands-1
}

// Allows reports whether an entry may follow, so that the text can be completed.
func (b *Bag) Allows(s BagState, entry int) bool {
	return !s.has(entry) && b.completable(b.counted(s, entry))
}

// has reports whether an entry has come that may come only once.
func (s *BagState) has(entry int) bool { return s.seen[entry/8]>>(entry%8)&1 != 0 }

// Next returns the state after an entry that is allowed.
func (b *Bag) Next(s BagState, entry int) BagState {
	next := b.counted(s, entry)
	if !b.Entries[entry].Repeats {
		seen := []byte(s.seen)
		seen[entry/8] |= 1 << (entry % 8)
		next.seen = string(seen)
	}
	return next
}

// counted returns the state after an entry, apart from what it has seen.
func (b *Bag) counted(s BagState, entry int) BagState {
	s.count++
	if b.Max < 0 {
		// Beyond the minimum the number makes no difference.
		s.count = min(s.count, int32(max(b.Min, 1)))
	}
	switch e := &b.Entries[entry]; {
	case e.Repeats:
		s.met |= e.Meets
	case e.Required:
		s.required--
	default:
		s.optional--
	}
	return s
}

// completable reports whether entries may follow s so that the text may end.
func (b *Bag) completable(s BagState) bool {
	least := int(s.required) + int(b.cover[(1<<b.Demands-1)&^s.met])
	most := least + int(s.optional)
	if b.repeats {
		most = never
	}
	if b.Max >= 0 {
		most = min(most, b.Max-int(s.count))
	}
	return least < never && max(least, b.Min-int(s.count)) <= most
}
