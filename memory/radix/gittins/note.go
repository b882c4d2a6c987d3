package gittins

// The classes. Each fits into noteClass.
const (
	inUse        = iota // a request has the pages, or had them and was aborted
	promptEnd           // the last page that a request brought
	firstTurn           // and four more, by length
	laterTurn    = firstTurn + lengths
	sharedPrefix = laterTurn + turns*gaps*2
	classes      = sharedPrefix + sharings

	lengths  = 5
	turns    = 6
	gaps     = 3
	sharings = 6
)

// The greatest values of each group but the last, which has no limit.
var (
	mostTurns = [turns - 1]uint64{2, 3, 4, 6, 9}
	mostTicks = [gaps - 1]uint64{150, 500} // between two turns
	mostHits  = [sharings - 1]uint64{2, 3, 5, 9, 17}
)

func group(value uint64, most []uint64) int {
	i := 0
	for i < len(most) && value > most[i] {
		i++
	}
	return i
}

// Usage.Note of a page has its class, the turn that brought it (0: not known yet)
// and the tick at which its wait for the next use began. While the page is in use,
// it has the number of its users instead of the tick, so that pages with different
// pasts are different nodes, and the pause before the request that uses it.
const (
	noteTick  = 18 // bits
	noteTurn  = 8
	maxTurn   = 1<<noteTurn - 1
	tickMask  = 1<<noteTick - 1
	turnShift = noteTick
	kindShift = noteTick + noteTurn
	usesMask  = 1<<16 - 1
)

func makeNote(class int, turn uint32, tick uint64) uint32 {
	return uint32(class)<<kindShift | turn<<turnShift | uint32(tick&tickMask)
}

func inUseNote(turn uint32, hits uint32, pause int) uint32 {
	return makeNote(inUse, turn, uint64(min(hits, usesMask))|uint64(pause)<<16)
}

func noteClass(note uint32) int     { return int(note >> kindShift) }
func noteTurnOf(note uint32) uint32 { return note >> turnShift & maxTurn }

// began is the tick at which the wait in a note began, within the last 2^18.
func began(note uint32, now uint64) uint64 {
	return now - (now-uint64(note))&tickMask
}
