package cfg

// Far is more than any length that [BagLengths] tells.
const Far = 1 << 30

// BagLengths are the lengths of shortest texts of a finished bag, or of what is left of them.
type BagLengths struct {
	bag       *Bag
	separator int
	of        []int   // by entry, with a separator
	missing   int     // required entries that were not added
	required  int     // the length of the others, with separators
	shortest  []int32 // entries that come at most once and are not required, shortest first
	repeated  int     // the length of the shortest entry that may come again, with a separator
	cover     [][]int // by number of entries and set of demands: the length of that many entries which meet all
}

// NewBagLengths returns the lengths of b while no text of an entry is known.
func NewBagLengths(b *Bag, separator int) *BagLengths {
	l := &BagLengths{bag: b, separator: separator, of: make([]int, len(b.Entries)), repeated: Far, cover: make([][]int, b.Demands+1)}
	for i, e := range b.Entries {
		l.of[i] = Far
		if e.Required {
			l.missing++
		}
	}
	for n := range l.cover {
		l.cover[n] = make([]int, 1<<b.Demands)
		for set := range l.cover[n] {
			if n > 0 || set > 0 {
				l.cover[n][set] = Far
			}
		}
	}
	return l
}

// Bytes returns roughly how much memory l holds.
func (l *BagLengths) Bytes() int { return 12*len(l.of) + 8*len(l.cover)<<l.bag.Demands + 150 }

// Add tells the length of the shortest text of an entry. The shortest entry is added first.
// better: [BagLengths.Least] may have become smaller.
func (l *BagLengths) Add(entry, length int) (better bool) {
	length = min(Far, length+l.separator)
	l.of[entry] = length
	e := &l.bag.Entries[entry]
	switch {
	case e.Repeats:
		better = e.Meets != 0 || l.repeated == Far
		l.repeated = min(l.repeated, length)
		for n := len(l.cover) - 1; n > 0; n-- {
			for set := range l.cover[n] {
				l.cover[n][set] = min(l.cover[n][set], length+l.cover[n-1][set&^int(e.Meets)])
			}
		}
	case e.Required:
		l.missing--
		l.required += length
		better = l.missing == 0
	default:
		l.shortest = append(l.shortest, int32(entry))
		// Longer ones replace none of those that are enough.
		better = l.repeated == Far && len(l.shortest) <= l.bag.Min
	}
	return better && l.missing == 0
}

// Least returns the length of a shortest text of the bag.
func (l *BagLengths) Least() int {
	switch start := l.bag.Start(); {
	case l.bag.CanEnd(start):
		return 0
	case l.missing > 0:
		return Far
	default:
		return l.Chosen(start, l.required)
	}
}

// Required returns the length of the required entries that have not come, with a separator
// for each. It may be beyond [Far].
func (l *BagLengths) Required(s BagState) (length int) {
	for i, e := range l.bag.Entries {
		if e.Required && !s.has(i) {
			length += l.of[i]
		}
	}
	return length
}

// Chosen returns the length of the rest where an entry must follow, without a separator
// before it. required is what Required says.
func (l *BagLengths) Chosen(s BagState, required int) int {
	if length := l.rest(s, required, -1, max(1, l.bag.Min-int(s.count))); length < Far {
		return length - l.separator
	}
	return Far
}

// After returns the length of the rest after an entry that came in state s. required is what
// Required says of s.
func (l *BagLengths) After(s BagState, required, entry int) int {
	after := l.bag.counted(s, entry)
	if l.bag.Entries[entry].Required {
		required -= l.of[entry]
	}
	if l.bag.CanEnd(after) {
		return 0
	}
	return l.rest(after, required, entry, max(0, l.bag.Min-int(after.count)))
}

// rest returns the length of at least so many entries that complete s, each with a separator.
// skip has come, too.
func (l *BagLengths) rest(s BagState, required, skip, least int) int {
	best := Far
	unmet := (1<<l.bag.Demands - 1) &^ s.met
	for n, cover := range l.cover {
		known := required + cover[unmet]
		count := int(s.required) + n
		more := max(0, least-count)
		if known >= best || l.bag.Max >= 0 && count+more > l.bag.Max-int(s.count) {
			continue
		}
		best = min(best, known+l.fill(s, skip, more))
	}
	return best
}

// fill returns the length of the n shortest entries that may follow and need not.
func (l *BagLengths) fill(s BagState, skip, n int) (length int) {
	if n == 0 {
		return 0
	}
	if l.repeated == Far && n > len(l.shortest) {
		return Far
	}
	for _, i := range l.shortest {
		if n == 0 || l.of[i] >= l.repeated || length >= Far {
			break
		}
		if int(i) != skip && !s.has(int(i)) {
			length += l.of[i]
			n--
		}
	}
	return min(Far, length+n*l.repeated)
}
