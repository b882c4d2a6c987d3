package vocab

import (
	"sync"
	"unsafe"

	"github.com/troupe-engine/troupe/model/grammar/earley"
)

// Mask is the tokens that a configuration allows. It is immutable.
type Mask struct {
	slices uint8    // bit k: all tokens of slice k
	ids    []int32  // and these, where words is nil
	words  []uint32 // else the whole mask
	count  int
}

// maxIDs is how many ids a mask lists before it becomes an array of bits.
const maxIDs = 1024

// Bytes returns how much memory the mask holds.
func (m *Mask) Bytes() int { return int(unsafe.Sizeof(*m)) + 4*cap(m.ids) + 4*cap(m.words) }

// Empty reports whether no token is allowed.
func (m *Mask) Empty() bool { return m.count == 0 }

// More reports whether more than n tokens are allowed, if that is known without counting them.
func (m *Mask) More(n int) bool { return m.words != nil && n < maxIDs || len(m.ids) > n }

// Write writes the mask into words, which has [Vocabulary.Words] entries.
func (v *Vocabulary) Write(m *Mask, words []uint32) {
	if m.words != nil {
		copy(words, m.words)
		return
	}
	clear(words)
	for k := range v.slices {
		if m.slices>>k&1 != 0 {
			for i, w := range v.slices[k].mask {
				words[i] |= w
			}
		}
	}
	for _, id := range m.ids {
		Allow(words, id)
	}
}

// walker is the working space of one walk.
type walker struct {
	stack []*earley.Config
	ids   []int32
	pause func() // may be nil
	steps int    // of the automaton that were not known
}

// pauseEvery is how many unknown steps, of about a microsecond or more each, are between two pauses.
const pauseEvery = 32

var walkers = sync.Pool{New: func() any { return new(walker) }}

// Compute finds the tokens that c allows: those whose bytes keep the grammar
// alive, the special tokens that the grammar names here, and the end tokens
// where the text may end. pause, if not nil, is called now and then, so that the caller can let
// others work. The error is one of [earley.Automaton.Next].
func (v *Vocabulary) Compute(a *earley.Automaton, c *earley.Config, pause func()) (*Mask, error) {
	w := walkers.Get().(*walker)
	defer walkers.Put(w)
	w.ids, w.pause = w.ids[:0], pause
	defer func() { w.pause = nil }()
	m := &Mask{}
	chars, err := survives(a, c)
	if err != nil {
		return nil, err
	}
	for k, most := range [4]int{short: shortChars, medium: mediumChars, long: unlimited, rest: unlimited + 1} {
		s := &v.slices[k]
		if chars >= most {
			m.slices |= 1 << k
			continue
		}
		if err := w.walk(a, c, &s.trie); err != nil {
			return nil, err
		}
	}
	c.Tokens(func(id int32) { w.ids = append(w.ids, id) })
	if c.CanEnd() {
		w.ids = append(w.ids, v.end...)
	}
	if len(w.ids) <= maxIDs {
		m.ids = append([]int32(nil), w.ids...)
	} else {
		words := make([]uint32, v.words)
		m.ids = w.ids
		v.Write(m, words)
		m.ids, m.words = nil, words
	}
	m.count = len(w.ids) + int(m.slices)
	return m, nil
}

// walk appends the tokens of t that keep c alive to w.ids.
func (w *walker) walk(a *earley.Automaton, c *earley.Config, t *trie) error {
	if cap(w.stack) < t.depth+1 {
		w.stack = make([]*earley.Config, t.depth+1)
	}
	stack := w.stack[:t.depth+1]
	stack[0] = c
	nodes := t.nodes
	for i := 0; i < len(nodes); {
		n := &nodes[i]
		at := stack[n.depth]
		next, known := at.Known(n.by)
		if !known {
			if w.steps++; w.pause != nil && w.steps%pauseEvery == 0 {
				w.pause()
			}
			var err error
			if next, err = a.Next(at, n.by); err != nil {
				return err
			}
		}
		if next == nil {
			i = int(n.skip)
			continue
		}
		stack[n.depth+1] = next
		if n.token >= 0 {
			w.ids = append(w.ids, n.token)
		} else if n.token < noToken {
			w.ids = append(w.ids, t.more[-n.token-2]...)
		}
		i++
	}
	return nil
}
