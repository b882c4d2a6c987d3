package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// metaspace replaces spaces by a visible character, as SentencePiece does. It
// is a pre-tokenizer and a decoder.
type metaspace struct {
	mark   string // one character, usually ▁
	scheme string // always, first or never: where a mark is put in front
	split  bool
}

func parseMetaspaceFields(raw json.RawMessage, at string) (metaspace, error) {
	var f struct {
		Replacement    *string `json:"replacement"`
		Scheme         *string `json:"prepend_scheme"`
		AddPrefixSpace *bool   `json:"add_prefix_space"`
		Split          *bool   `json:"split"`
	}
	if err := decodeJSON(raw, &f); err != nil {
		return metaspace{}, fmt.Errorf("%s: %w", at, err)
	}
	m := metaspace{mark: "▁", scheme: "always", split: f.Split == nil || *f.Split}
	if f.Replacement != nil {
		m.mark = *f.Replacement
	}
	if utf8.RuneCountInString(m.mark) != 1 {
		return m, fmt.Errorf("%s.replacement: %s is not one character", at, clip(m.mark))
	}
	// Files from before prepend_scheme have only add_prefix_space.
	if f.AddPrefixSpace != nil && !*f.AddPrefixSpace {
		m.scheme = "never"
	}
	if f.Scheme != nil {
		m.scheme = *f.Scheme
	}
	switch m.scheme {
	case "always", "first", "never":
		return m, nil
	}
	return m, fmt.Errorf("%s.prepend_scheme: %q is not supported (supported: always, first, never)", at, m.scheme)
}

func parseMetaspace(raw json.RawMessage, at string) (preTokenizer, error) {
	m, err := parseMetaspaceFields(raw, at)
	if err != nil {
		return nil, err
	}
	return func(piece string, atStart bool, emit emitter) bool {
		piece = strings.ReplaceAll(piece, " ", m.mark)
		prepend := m.scheme == "always" || (m.scheme == "first" && atStart)
		if prepend && !strings.HasPrefix(piece, m.mark) {
			piece = m.mark + piece
		}
		if !m.split {
			return emit(piece, atStart)
		}
		return splitSpans(piece, literalMatches(piece, m.mark), mergedWithNext, false, func(start, end int) bool {
			return emit(piece[start:end], atStart && start == 0)
		})
	}, nil
}

// decode gives the text of a token; the first token loses its marks.
func (m metaspace) decode(token string, first bool) string {
	if first && m.scheme != "never" {
		return strings.ReplaceAll(token, m.mark, "")
	}
	return strings.ReplaceAll(token, m.mark, " ")
}
