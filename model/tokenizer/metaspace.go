package tokenizer

import "strings"

// metaspace replaces spaces by a visible character, as SentencePiece does. It
// is a pre-tokenizer and a decoder.
type metaspace struct {
	mark   string // one character, usually ▁
	scheme string // always, first or never: where a mark is put in front
	split  bool
}

func (c *component) metaspace() (metaspace, error) {
	m := metaspace{mark: valueOr(c.Replacement, "▁"), scheme: "always", split: valueOr(c.Split, true)}
	// Files from before prepend_scheme have only add_prefix_space.
	if !valueOr(c.AddPrefixSpace, true) {
		m.scheme = "never"
	}
	m.scheme = valueOr(c.PrependScheme, m.scheme)
	switch m.scheme {
	case "always", "first", "never":
		return m, c.oneCharacter("replacement", m.mark)
	}
	return m, c.fail(".prepend_scheme: %q is not supported; supported: always, first, never", m.scheme)
}

func (m metaspace) preTokenizer() preTokenizer {
	split := matchStep(pattern{literal: m.mark}.matches, mergedWithNext, false)
	return func(piece string, atStart bool, emit emitter) bool {
		piece = strings.ReplaceAll(piece, " ", m.mark)
		prepend := m.scheme == "always" || (m.scheme == "first" && atStart)
		if prepend && !strings.HasPrefix(piece, m.mark) {
			piece = m.mark + piece
		}
		if !m.split {
			return emit(piece, atStart)
		}
		return split(piece, atStart, emit)
	}
}

// decode returns the text of a token; the first token loses its marks.
func (m metaspace) decode(token string, first bool) string {
	if first && m.scheme != "never" {
		return strings.ReplaceAll(token, m.mark, "")
	}
	return strings.ReplaceAll(token, m.mark, " ")
}
