package grammar

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// The chance, in parts of hurry, that a step of a sample goes towards the end: patience
// before the first token, and one more after each token. From the token hurry-patience on,
// every step does.
const (
	patience = 16
	hurry    = 256
)

// maxSample bounds a sample, in tokens.
const maxSample = 20_000

// Sample draws a text from the masks alone, and returns it with special tokens by their
// names. It depends on the grammar, its vocabulary and random only. Short texts are likely:
//
//   - With a chance that grows with each token, a step goes towards the end: the text ends if
//     it may, or goes on with the longest token on the shortest way to an end.
//   - The other steps draw what the next token begins with, then the token, see
//     [vocab.Vocabulary.Draw]. Otherwise the thousands of numbers or spaces of a vocabulary
//     would leave little room for a bracket.
//
// The error is an [*Error] of kind TooLarge or NoToken, as of [Matcher.Mask].
func (g *Grammar) Sample(random *rand.Rand) (string, error) {
	v := g.vocab
	m, mask := g.Matcher(), make([]uint32, v.Words())
	var text strings.Builder
	way := "" // what is left of a word on the way to the end
	for n := range maxSample {
		home := random.IntN(hurry) < patience+n
		if m.MustEnd() || home && m.CanEnd() {
			return text.String(), nil
		}
		if err := m.Mask(mask); err != nil {
			return text.String(), err
		}
		token, found := int32(0), false
		if home {
			var err error
			if token, found, err = m.homeward(&way, mask); err != nil {
				return text.String(), err
			}
		}
		if !found {
			way = ""
			token, found = v.Draw(mask, !m.CanEnd(), random)
		}
		if !found {
			return text.String(), nil // the vocabulary has nothing but end tokens for this place
		}
		if err := m.Accept(token); err != nil {
			return text.String(), err
		}
		if name, ok := v.SpecialName(token); ok {
			text.WriteString(name)
		} else {
			text.Write(v.Bytes(token))
		}
	}
	return text.String(), &Error{TooLarge, "", fmt.Sprintf("a text did not end within %d tokens", maxSample), "use smaller counts"}
}

// homeward returns the longest token of mask on the shortest way to an end of the text. way
// is the word that the way goes on with, empty if it is not known.
func (m *Matcher) homeward(way *string, mask []uint32) (token int32, found bool, err error) {
	// A word can be cut short by a lazy terminal. Then another one begins here.
	if token, found = m.g.vocab.Longest(*way, mask); !found {
		var e earley.Ending
		err = m.do(func() (err error) {
			e, found, err = m.gen.auto.Ending(m.at)
			return err
		})
		switch {
		case err != nil:
			return 0, false, asError(err)
		case !found:
			return 0, false, nil
		case e.Token >= 0:
			*way = ""
			return e.Token, vocab.Allowed(mask, e.Token), nil
		}
		*way = e.Word
		token, found = m.g.vocab.Longest(*way, mask)
	}
	if found {
		*way = (*way)[len(m.g.vocab.Bytes(token)):]
	}
	return token, found, nil
}
