package vocab

import "github.com/troupe-engine/troupe/model/grammar/earley"

// unlimited is the answer of survives when any number of characters is allowed.
const unlimited = 1 << 30

// maxExplored bounds how many configurations survives looks at. Beyond it the
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
// are: less than shortChars counts as none. It follows all of them at the same
// time and stops where a configuration comes back.
func survives(a *earley.Automaton, c *earley.Config) (int, error) {
	// Most configurations outside strings allow no letter or no digit.
	for _, b := range []byte("aZ0 \xc3") {
		if next, known := c.Known(b); known && next == nil {
			return 0, nil
		}
	}
	seen := map[*earley.Config]bool{c: true}
	level := []*earley.Config{c}
	for n := 0; ; n++ {
		if n == mediumChars {
			return n, nil
		}
		var next []*earley.Config
		for _, at := range level {
			ok, err := eachSafe(a, at, func(to *earley.Config) {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			})
			if err != nil {
				return 0, err
			}
			if !ok || len(seen) > maxExplored {
				return n, nil
			}
		}
		if len(next) == 0 {
			return unlimited, nil
		}
		level = next
	}
}

// eachSafe calls each with what follows each safe character, and reports
// whether all are allowed.
func eachSafe(a *earley.Automaton, c *earley.Config, each func(*earley.Config)) (bool, error) {
	for _, g := range safeChars {
		ok, err := eachByte(a, c, g.first, g.last, func(to *earley.Config) (bool, error) {
			return eachTail(a, to, g.lo, g.hi, g.tail, each)
		})
		if !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func eachTail(a *earley.Automaton, c *earley.Config, lo, hi byte, n int, each func(*earley.Config)) (bool, error) {
	if n == 0 {
		each(c)
		return true, nil
	}
	return eachByte(a, c, lo, hi, func(to *earley.Config) (bool, error) {
		return eachTail(a, to, 0x80, 0xbf, n-1, each)
	})
}

// eachByte calls each once for each class of the bytes [lo, hi].
func eachByte(a *earley.Automaton, c *earley.Config, lo, hi byte, each func(*earley.Config) (bool, error)) (bool, error) {
	class := c.ClassOf()
	var done [4]uint64
	for b := int(lo); b <= int(hi); b++ {
		k := class[b]
		if done[k>>6]>>(k&63)&1 != 0 {
			continue
		}
		done[k>>6] |= 1 << (k & 63)
		to, err := a.Next(c, byte(b))
		if err != nil || to == nil {
			return false, err
		}
		if ok, err := each(to); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
