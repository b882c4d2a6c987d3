package gittins

import (
	"math"

	"github.com/troupe-engine/troupe/memory/radix"
)

// Policy evicts the page with the least Gittins index: the greatest rate of hits
// per page and tick that it can bring if it is kept for some time,
//
//	index(age) = max over d of P(hit within d) / E[min(time to the hit, d)],
//
// given that its last use is age ticks ago. For independent waiting times it is the
// optimal order of service (Gittins 1979; Aalto, Ayesta, Righter 2009), and the hit
// density of LHD (Beckmann, Chen, Cidon, NSDI 2018) with the best horizon. Every page
// costs the same to keep, and about the same to recompute.
//
// How long pages wait is learned, per class, from all pages that came back, the
// evicted ones included if the tree has a History; lifeTable says how. Classes
// are what the engine knows of a conversation:
//
//   - the turn: the first request that continues a page of turn t is turn t+1,
//     every other request begins a conversation at turn 1;
//   - from turn 2 on, how long the user took and whether the new part is long;
//     at turn 1, how long the prompt is;
//   - pages used by more requests than the conversation has turns are a shared
//     prefix; their class depends on how many requests used them;
//   - the last page of a request.
//
// Lengths are shares of the mean request, so nothing depends on the page size. The
// candidates are the oldest and the newest leaf of each class, because a class's index
// rises while users read and falls afterwards. The oldest leaf of all is evicted unless
// another is clearly worse: what was learned is uncertain, and LRU is never far off.
//
// It takes at most 2 MB, and O(classes) per eviction.
type Policy struct {
	lives lifeTable
	index [classes][ageBins]float64
	fresh bool   // index has been computed
	since uint64 // the tick of it

	mean float64 // pages per request, a moving average
	last previous
}

// previous is the deepest page of an insertion that an earlier request used.
type previous struct {
	depth   int32 // -1 for none
	lastUse uint64
}

const (
	// meanWeight is how many requests the moving average of lengths spans.
	meanWeight = 256
	// longPart is from what share of the mean request on a new part is long.
	longPart = 0.375
	// clearly: an index must be less than this share of the oldest leaf's.
	clearly = 0.75
	// indexAge is after how many ticks the index is computed again.
	indexAge = 64
)

// New returns a policy that knows only the priors.
func New() *Policy {
	return &Policy{lives: newLifeTable(), last: previous{depth: -1}}
}

// Rank is the last use.
func (*Policy) Rank(u *radix.Usage) radix.Rank { return radix.Rank{Minor: u.LastUse} }

func (*Policy) Classes() int { return classes }

// Class is the class of the request that used the pages last.
func (*Policy) Class(u *radix.Usage) int { return noteClass(u.Note) }

// Choose weighs the oldest and the newest leaf of each class.
func (g *Policy) Choose(now uint64, least, newest []*radix.Usage) (class int, takeNewest bool) {
	if !g.fresh || now-g.since >= indexAge {
		g.lives.advance(now)
		for c := range g.index {
			g.lives.index(c, g.mean, &g.index[c])
		}
		g.fresh, g.since = true, now
	}
	class = -1
	for c, u := range least {
		if u != nil && (class < 0 || u.LastUse < least[class].LastUse) {
			class = c
		}
	}
	lastUse := least[class].LastUse
	worst := clearly * g.worth(class, now, lastUse)
	weigh := func(leaves []*radix.Usage, areNewest bool) {
		for c, u := range leaves {
			if u == nil {
				continue
			}
			if v := g.worth(c, now, u.LastUse); v < worst || v == worst && u.LastUse < lastUse {
				class, takeNewest, worst, lastUse = c, areNewest, v, u.LastUse
			}
		}
	}
	weigh(least, false)
	weigh(newest, true)
	return class, takeNewest
}

func (g *Policy) worth(class int, now, lastUse uint64) float64 {
	return g.index[class][ageBin(now-lastUse)]
}

// Added ends the wait of a page that the history remembers.
func (g *Policy) Added(u *radix.Usage, now uint64, pages int) {
	turn := noteTurnOf(u.Note)
	if u.LastUse != 0 {
		g.reused(u.Note, now, pages)
		g.previous(u.Depth, u.LastUse)
	}
	u.Note = inUseNote(turn, u.Hits, 0)
}

// Used ends the waits of the pages that a request took. When the request gives its
// pages up, it begins new waits in the classes of that request.
func (g *Policy) Used(now uint64, path []radix.PathNode, first, last bool) {
	for _, s := range path {
		if s.LastUse == 0 {
			continue
		}
		if s.Hit {
			g.reused(s.Usage.Note, now, s.Pages)
			g.previous(s.Usage.Depth, s.LastUse)
		} else if noteClass(s.Usage.Note) != inUse {
			g.lives.forget(noteClass(s.Usage.Note), began(s.Usage.Note, now), s.Pages, now)
		}
	}
	turn, pause := g.conversation(now, path, first)
	own := g.ownClass(path, turn, pause, last)
	for i, s := range path {
		u := s.Usage
		brought := noteTurnOf(u.Note)
		if brought == 0 {
			brought = turn
		}
		if !last {
			u.Note = inUseNote(brought, u.Hits, pause)
			continue
		}
		class := own
		switch {
		case i == 0 && s.Pages == 1:
			class = promptEnd
		case u.Hits > turn && u.Hits > 1:
			class = sharedPrefix + group(uint64(u.Hits), mostHits[:])
		}
		u.Note = makeNote(class, brought, now)
		g.lives.begin(class, now, s.Pages)
	}
	g.last = previous{depth: -1}
}

func (g *Policy) reused(note uint32, now uint64, pages int) {
	if class := noteClass(note); class != inUse {
		g.lives.reused(class, began(note, now), pages, now)
	}
}

func (g *Policy) previous(depth int32, lastUse uint64) {
	if depth > g.last.depth {
		g.last = previous{depth, lastUse}
	}
}

// conversation is which turn of its conversation a request is, and the pause's class.
func (g *Policy) conversation(now uint64, path []radix.PathNode, first bool) (turn uint32, pause int) {
	for _, s := range path {
		turn := noteTurnOf(s.Usage.Note)
		switch {
		case turn == 0: // this insertion brought it
		case !first && noteClass(s.Usage.Note) == inUse:
			return turn, int(s.Usage.Note & tickMask >> 16)
		case !first: // another request has used it meanwhile
			return turn, gaps / 2
		case s.Usage.Hits == 2:
			return min(turn+1, maxTurn), group(now-g.last.lastUse, mostTicks[:])
		default:
			return 1, 0
		}
	}
	return 1, 0
}

// ownClass is the class of the pages that only this conversation uses.
func (g *Policy) ownClass(path []radix.PathNode, turn uint32, pause int, last bool) int {
	all := int(path[0].Usage.Depth) + path[0].Pages
	brought := 0
	for _, s := range path {
		if s.Usage.Hits > 1 {
			break
		}
		brought += s.Pages
	}
	switch {
	case g.mean == 0:
		g.mean = float64(all)
	case last:
		g.mean += (float64(all) - g.mean) / meanWeight
	}
	share := float64(brought) / g.mean
	if turn == 1 {
		return firstTurn + min(max(int(lengths+math.Log2(share)), 0), lengths-1)
	}
	class := laterTurn + 2*(gaps*group(uint64(turn), mostTurns[:])+pause)
	if share > longPart {
		class++
	}
	return class
}
