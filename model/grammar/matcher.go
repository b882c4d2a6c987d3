package grammar

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// Matcher follows one text. It is small: a clone costs nothing, which is how a
// text is taken back to where it was.
type Matcher struct {
	g     *Grammar
	gen   *generation
	at    *earley.Config
	ended bool
	// Known makes Replay, Certain and Mask fail with ErrUnknown where something has to be
	// computed. Then they take microseconds and wait for nobody.
	Known bool
	// Pause, if not nil, is called now and then while a mask is made that takes long. It may
	// wait, so that others can work.
	Pause func()
}

// ErrUnknown: the answer has to be computed, see [Matcher.Known].
var ErrUnknown = errors.New("the grammar has not been followed to here")

// Matcher returns a matcher before the first token.
func (g *Grammar) Matcher() *Matcher {
	gen := g.current.Load()
	return &Matcher{g: g, gen: gen, at: gen.auto.Start()}
}

// Clone returns a matcher at the same place.
func (m *Matcher) Clone() *Matcher {
	c := *m
	return &c
}

// Ended reports whether an end token was accepted.
func (m *Matcher) Ended() bool { return m.ended }

// CanEnd reports whether the text may end here.
func (m *Matcher) CanEnd() bool { return m.ended || m.at.CanEnd() }

// MustEnd reports whether nothing but an end token may follow.
func (m *Matcher) MustEnd() bool { return m.ended || m.at.CanEnd() && m.at.MustEnd() }

// maxMoves bounds how often one operation may find the tables full. Once they
// are new, what does not fit is too large.
const maxMoves = 2

// do runs an operation on the tables, and takes the matcher to new tables where
// they are full.
func (m *Matcher) do(operation func() error) error {
	for moves := 0; ; moves++ {
		err := operation()
		if !errors.Is(err, earley.ErrFull) {
			return err
		}
		if moves == maxMoves {
			return earley.ErrTooWide
		}
		if err := m.move(); err != nil {
			return err
		}
	}
}

func (m *Matcher) move() error {
	for range maxMoves {
		gen, err := m.g.replace(m.gen)
		if err != nil {
			return err
		}
		at, err := gen.auto.Import(m.gen.auto, m.at)
		if err == nil {
			m.gen, m.at = gen, at
			return nil
		}
		if !errors.Is(err, earley.ErrFull) {
			return err
		}
		// The newest tables are full as well: replace them, too.
		if _, err := m.g.replace(gen); err != nil {
			return err
		}
	}
	return earley.ErrTooWide
}

// Mask writes the tokens that are allowed here into words, which has
// [vocab.Vocabulary.Words] entries. After an end token only end tokens are. The
// error is an [*Error] of kind TooLarge or NoToken, and ends this text.
func (m *Matcher) Mask(words []uint32) error {
	if m.ended {
		clear(words)
		for _, id := range m.g.vocab.End() {
			vocab.Allow(words, id)
		}
		return nil
	}
	if m.Known {
		mask := placeAt(m.at).mask()
		if mask == nil || mask.Empty() || m.gen != m.g.current.Load() {
			return ErrUnknown
		}
		m.g.vocab.Write(mask, words)
		return nil
	}
	if m.gen != m.g.current.Load() {
		// Old tables are not kept alive by those who are busy.
		if err := m.move(); err != nil {
			return asError(err)
		}
	}
	var mask *vocab.Mask
	err := m.do(func() (err error) {
		mask, err = m.g.mask(m.gen, m.at, m.Pause)
		return err
	})
	if err != nil {
		return asError(err)
	}
	if mask.Empty() {
		return &Error{NoToken, "", "no token of the vocabulary can continue the text as the grammar demands", "let the grammar allow other text here"}
	}
	m.g.vocab.Write(mask, words)
	return nil
}

// replayKnown is Replay where nothing has to be computed.
func (m *Matcher) replayKnown(tokens []int32) error {
	v, at := m.g.vocab, m.at
	if m.ended || m.gen != m.g.current.Load() {
		return ErrUnknown
	}
	for _, token := range tokens {
		text := v.Bytes(token)
		if len(text) == 0 || v.IsSpecial(token) {
			return ErrUnknown
		}
		for _, b := range text {
			next, known := at.Known(b)
			if !known || next == nil {
				return ErrUnknown
			}
			at = next
		}
	}
	m.at = at
	return nil
}

// Accept moves on over a token. Where it fails the matcher stays where it was.
func (m *Matcher) Accept(token int32) error {
	v := m.g.vocab
	if m.ended || v.IsEnd(token) {
		if _, named := v.SpecialName(token); !m.CanEnd() && named && !m.ended {
			return m.acceptSpecial(token)
		}
		if !v.IsEnd(token) || !m.CanEnd() {
			return m.rejected(token)
		}
		m.ended = true
		return nil
	}
	if v.IsSpecial(token) {
		return m.acceptSpecial(token)
	}
	text := v.Bytes(token)
	if len(text) == 0 || m.AcceptBytes(text) != nil {
		return m.rejected(token)
	}
	return nil
}

func (m *Matcher) rejected(token int32) error {
	return &Error{Rejected, "", fmt.Sprintf("token %d is not allowed here", token), ""}
}

func (m *Matcher) acceptSpecial(token int32) error {
	return m.step(func() (*earley.Config, error) { return m.gen.auto.NextToken(m.at, token) },
		func() error { return m.rejected(token) })
}

// step goes where next says.
func (m *Matcher) step(next func() (*earley.Config, error), rejected func() error) error {
	var to *earley.Config
	err := m.do(func() (err error) {
		to, err = next()
		return err
	})
	switch {
	case err != nil:
		return asError(err)
	case to == nil:
		return rejected()
	}
	m.at = to
	return nil
}

// AcceptBytes moves on over text. Where it fails the matcher stays where it was.
func (m *Matcher) AcceptBytes(text []byte) error {
	before := *m
	for i, b := range text {
		err := m.step(func() (*earley.Config, error) { return m.gen.auto.Next(m.at, b) }, func() error {
			return &Error{Rejected, fmt.Sprintf("byte %d", i), fmt.Sprintf("%q is not allowed here", text[i:min(len(text), i+16)]), ""}
		})
		if m.ended {
			err = &Error{Rejected, "", "the text has ended", ""}
		}
		if err != nil {
			*m = before
			return err
		}
	}
	return nil
}

// Replay moves on over tokens, as after a restart. Where it fails the matcher
// stays where it was; the tokens were not drawn under this grammar.
func (m *Matcher) Replay(tokens []int32) error {
	if m.Known {
		return m.replayKnown(tokens)
	}
	before := *m
	for _, token := range tokens {
		if err := m.Accept(token); err != nil {
			*m = before
			return err
		}
	}
	return nil
}

// Forced returns the text that must follow, up to max bytes: at each of its
// bytes the text may not end, no special token may come, and no other byte. It
// is empty where there is a choice. How it is cut into tokens is the model's
// choice.
func (m *Matcher) Forced(max int) ([]byte, error) {
	if m.ended {
		return nil, nil
	}
	look := m.Clone()
	var out []byte
	for len(out) < max {
		var b byte
		var next *earley.Config
		var only bool
		err := look.do(func() (err error) {
			b, next, only, err = look.gen.auto.Only(look.at)
			return err
		})
		if err != nil {
			return out, asError(err)
		}
		if !only {
			break
		}
		look.at = next
		out = append(out, b)
	}
	return out, nil
}
