package tokenizer

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

func (v *Vocabulary) listedMerges(m *bpe) ([]merge, error) {
	if v.Merges == nil {
		return nil, keyError("merges", "is missing; download the whole model")
	}
	merges := make([]merge, len(v.Merges))
	for i, text := range v.Merges {
		parts, ok := splitMerge([]byte(text))
		if !ok || len(parts.left) == 0 {
			return nil, keyError(element("merges", i), "is %s, not two tokens separated by one space; download it again", clip(text))
		}
		var missing []byte
		if merges[i], missing = m.merge(parts); missing != nil {
			return nil, keyError(element("merges", i), "needs token %s, which is not in tokenizer.ggml.tokens; download it again or convert it again", clip(string(missing)))
		}
	}
	return merges, nil
}

const maxScored = 256

// scoredMerges lists every way to make a token of two others. The token with the higher
// score goes first, among equals the one with the lower id; the ways to make one token
// are ordered by the ids of their parts (generate_merges in convert_slow_tokenizer.py of
// transformers 4). Tokens of more than maxScored bytes are not made: trying all their
// parts takes time by the square of their length, and SentencePiece has none.
func (v *Vocabulary) scoredMerges(m *bpe) ([]merge, error) {
	if len(v.Scores) < len(v.Tokens) {
		return nil, keyError("scores", "has %d scores for %d tokens; download it again", len(v.Scores), len(v.Tokens))
	}
	var merges []merge
	for id, token := range v.Tokens {
		if s := v.Scores[id]; s != s {
			return nil, keyError(element("scores", id), "is not a number; download it again")
		}
		if t := v.typeOf(id); t == TokenByte || t == TokenControl || t == TokenUserDefined || t == TokenUnknown || len(token) > maxScored {
			continue
		}
		if have, ok := m.vocab[token]; !ok || int(have) != id {
			continue
		}
		from := len(merges)
		text := []byte(token)
		for at := 0; ; {
			_, n := utf8.DecodeRune(text[at:])
			if at += n; at >= len(text) {
				break
			}
			if p, missing := m.merge(mergeText{text[:at], text[at:]}); missing == nil {
				merges = append(merges, p)
			}
		}
		slices.SortFunc(merges[from:], func(a, b merge) int {
			return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.right, b.right))
		})
	}
	slices.SortStableFunc(merges, func(a, b merge) int { return cmp.Compare(v.Scores[b.merged], v.Scores[a.merged]) })
	return merges, nil
}
