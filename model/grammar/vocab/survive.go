package vocab

import (
	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// unlimited is the answer of survives when any number of characters is allowed.
const unlimited = 1 << 30

// maxExplored bounds how many states explore looks at. Beyond it the
// slices are walked.
const maxExplored = 256

// A group is bytes that continue a character in the same way: what must follow
// is as many bytes of [lo, hi] for the first, and of [0x80, 0xbf] for the others.
type group struct {
	first, last byte // of the first byte
	tail        int  // bytes that follow
	lo, hi      byte // of the second byte
}

// safeChars is the UTF-8 of the characters that sliceOf calls safe.
var safeChars = []group{
	{' ', '!', 0, 0, 0}, {'#', '[', 0, 0, 0}, {']', '~', 0, 0, 0},
	{0xc2, 0xdf, 1, 0x80, 0xbf},
	{0xe0, 0xe0, 2, 0xa0, 0xbf}, {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
	{0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
}

// survives returns how many safe characters c surely allows, whichever they
// are: less than shortChars counts as none.
func survives(a *earley.Automaton, c *earley.Config) (int, error) {
	// Most configurations outside strings allow no letter or no digit.
	for _, b := range []byte("aZ0 \xc3") {
		if next, known := c.Known(b); known && next == nil {
			return 0, nil
		}
	}
	best, terms := 0, c.Terms()
	for _, t := range terms {
		if best < unlimited {
			best = max(best, survivesTerm(a, t))
		}
	}
	if best >= mediumChars || len(terms) == 1 {
		return best, nil
	}
	// Several terminals may keep it alive together.
	together, _, err := explore(c, (*earley.Config).ClassOf, func(at *earley.Config, b byte) (*earley.Config, bool, error) {
		to, err := a.Next(at, b)
		return to, to != nil, err
	})
	return max(best, together), err
}

// survivesTerm is survives of a terminal alone. Answers are kept by term: many
// configurations have the same terminals in progress.
func survivesTerm(a *earley.Automaton, t regex.Term) int {
	if n, ok := a.Note(t); ok {
		return n
	}
	n, seen, err := explore(t, a.TermClasses, a.NextTerm)
	if err != nil {
		return 0 // whoever takes the step will meet the error
	}
	a.SetNote(t, n)
	if n == unlimited {
		for t := range seen {
			a.SetNote(t, unlimited)
		}
	}
	return n
}

// explore follows all safe characters at the same time and stops where a state
// comes back, or one cannot go on. It returns how many there surely can be, and
// the states that it has seen.
func explore[State comparable](start State, classOf func(State) *[256]uint8, step func(State, byte) (State, bool, error)) (int, map[State]bool, error) {
	seen := map[State]bool{start: true}
	level := []State{start}
	e := explorer[State]{classOf, step}
	for n := 0; ; n++ {
		if n == mediumChars {
			return n, seen, nil
		}
		var next []State
		for _, at := range level {
			ok, err := e.eachSafe(at, func(to State) {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			})
			if err != nil {
				return 0, nil, err
			}
			if !ok || len(seen) > maxExplored {
				return n, seen, nil
			}
		}
		if len(next) == 0 {
			return unlimited, seen, nil
		}
		level = next
	}
}

// explorer is what explore asks of a state: its classes of bytes, and where
// one of them leads, if anywhere.
type explorer[State comparable] struct {
	classOf func(State) *[256]uint8
	step    func(State, byte) (State, bool, error)
}

// eachSafe calls each with what follows each safe character, and reports
// whether all are allowed.
func (e *explorer[State]) eachSafe(at State, each func(State)) (bool, error) {
	for _, g := range safeChars {
		ok, err := e.eachByte(at, g.first, g.last, func(to State) (bool, error) {
			return e.eachTail(to, g.lo, g.hi, g.tail, each)
		})
		if !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (e *explorer[State]) eachTail(at State, lo, hi byte, n int, each func(State)) (bool, error) {
	if n == 0 {
		each(at)
		return true, nil
	}
	return e.eachByte(at, lo, hi, func(to State) (bool, error) {
		return e.eachTail(to, 0x80, 0xbf, n-1, each)
	})
}

// eachByte calls each once for each class of the bytes [lo, hi].
func (e *explorer[State]) eachByte(at State, lo, hi byte, each func(State) (bool, error)) (bool, error) {
	class := e.classOf(at)
	var done [4]uint64
	for b := int(lo); b <= int(hi); b++ {
		k := class[b]
		if done[k>>6]>>(k&63)&1 != 0 {
			continue
		}
		done[k>>6] |= 1 << (k & 63)
		to, ok, err := e.step(at, byte(b))
		if err != nil || !ok {
			return false, err
		}
		if ok, err := each(to); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
