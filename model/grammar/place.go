package grammar

import (
	"slices"
	"sync/atomic"

	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// place is what is kept with a configuration. A nil place knows nothing.
type place struct {
	allowed atomic.Pointer[vocab.Mask]
	after   atomic.Pointer[[]follower]
}

// follower is the token that must come after the token before; vocab.None: none must.
type follower struct{ before, token int32 }

// choice is what follows where the next byte is not certain.
var choice []follower

// maxFollowers is how many tokens before a place are told apart. A text that is certain follows
// few, such as the ends of a string in JSON.
const maxFollowers = 16

// Roughly what a place takes, apart from its mask.
const placeBytes, followerBytes = 96, 8

func placeAt(c *earley.Config) *place {
	if kept := c.Data.Load(); kept != nil {
		return (*kept).(*place)
	}
	return nil
}

func (p *place) mask() *vocab.Mask {
	if p == nil {
		return nil
	}
	return p.allowed.Load()
}

// follower returns the token that must come after the token before, if that is known.
func (p *place) follower(before int32) (token int32, known bool) {
	if p == nil {
		return vocab.None, false
	}
	list := p.after.Load()
	switch {
	case list == nil:
		return vocab.None, false
	case list == &choice:
		return vocab.None, true
	}
	for _, f := range *list {
		if f.before == before {
			return f.token, true
		}
	}
	return vocab.None, false
}

// keep changes the place of c. set returns how many bytes more it takes.
func (g *Grammar) keep(gen *generation, c *earley.Config, bytes int, set func(*place) (more int)) {
	gen.mu.Lock()
	defer gen.mu.Unlock()
	if gen.bytes+bytes > g.limits.Masks {
		for _, c := range gen.kept {
			c.Data.Store(nil)
		}
		gen.kept, gen.bytes = gen.kept[:0], 0
	}
	p := placeAt(c)
	if p == nil {
		p = &place{}
		var kept any = p
		c.Data.Store(&kept)
		gen.kept = append(gen.kept, c)
		gen.bytes += placeBytes
	}
	gen.bytes += set(p)
	gen.held.Store(int64(gen.bytes))
}

// mask returns the tokens that c allows.
func (g *Grammar) mask(gen *generation, c *earley.Config, pause func()) (*vocab.Mask, error) {
	if m := placeAt(c).mask(); m != nil {
		return m, nil
	}
	m, err := g.vocab.Compute(gen.auto, c, pause)
	if err != nil {
		return nil, err
	}
	g.keep(gen, c, m.Bytes(), func(p *place) int {
		if !p.allowed.CompareAndSwap(nil, m) {
			return 0
		}
		return m.Bytes()
	})
	return m, nil
}

// AllowsMore reports whether more than n tokens are allowed here. It is false as well where
// that is not known at once: who must know counts in the mask.
func (m *Matcher) AllowsMore(n int) bool {
	mask := placeAt(m.at).mask()
	return !m.ended && mask != nil && mask.More(n)
}

// certain is how many bytes are looked ahead: a token that is longer is not found.
const certain = 64

// Certain returns the token that must come next if the text is to be cut into tokens as the
// model's tokenizer cuts it: where the grammar leaves no choice about the next bytes, the first
// token of them, if it is the same whatever comes after these bytes, see
// [vocab.Vocabulary.First]. Otherwise it is [vocab.None]. It depends on the place and the token
// before only, which is the last one of the text or of what stands before it, or None.
func (m *Matcher) Certain(before int32) (token int32, err error) {
	if m.ended {
		return vocab.None, nil
	}
	at, gen := m.at, m.gen
	if token, known := placeAt(at).follower(before); known {
		return token, nil
	}
	if m.Known {
		return vocab.None, ErrUnknown
	}
	text, err := m.Forced(certain)
	if err != nil {
		return vocab.None, err
	}
	if len(text) == 0 {
		m.g.keep(gen, at, 0, func(p *place) int { p.after.Store(&choice); return 0 })
		return vocab.None, nil
	}
	found := follower{before, m.g.vocab.First(before, text)}
	m.g.keep(gen, at, 0, func(p *place) int {
		var list []follower
		old := p.after.Load()
		if old != nil && len(*old) < maxFollowers {
			list = slices.Clone(*old)
		}
		list = append(list, found)
		if p.after.Store(&list); old != nil {
			return followerBytes * (len(list) - len(*old))
		}
		return followerBytes
	})
	return found.token, nil
}
