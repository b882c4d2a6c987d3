package tokenizer

import (
	"fmt"
	"slices"
)

// index gives every token its id: those of the vocabulary, of tokenizer.json's
// added_tokens, and of the other files. The last file that has a token decides its flags.
func (t *Tokenizer) index(added []addedToken) error {
	for i, tok := range added {
		if err := checkToken(tok.Content, tok.ID); err != nil {
			return fmt.Errorf("added_tokens[%d] (%s): %w", i, clip(tok.Content), err)
		}
	}
	tokens, err := t.mergeAdded(slices.Concat(t.config.plain, added, t.config.added))
	if err != nil {
		return err
	}
	if err := t.placeTokens(tokens); err != nil {
		return err
	}
	for _, content := range t.config.special {
		id, ok := t.TokenID(content)
		if !ok || t.flags[id]&flagSpecial != 0 {
			continue
		}
		i := slices.IndexFunc(tokens, func(a addedToken) bool { return a.Content == content })
		if i < 0 {
			tokens = append(tokens, addedToken{ID: int64(id), Content: content})
			i = len(tokens) - 1
		}
		tokens[i].Special = true
		t.flags[id] |= flagSpecial
	}
	for i := range tokens {
		tok := &tokens[i]
		if !tok.Normalized {
			t.literal.add(tok.Content, tok)
			continue
		}
		t.normalizedSpecial = t.normalizedSpecial || tok.Special
		t.normalized.add(t.normal(tok.Content), tok)
	}
	t.renderTokens()
	t.chooseMarks(tokens)
	t.bound(tokens)
	return nil
}

// mergeAdded joins entries for one content; all must agree on the id.
func (t *Tokenizer) mergeAdded(added []addedToken) ([]addedToken, error) {
	at := map[string]int{}
	var tokens []addedToken
	for _, tok := range added {
		id, inVocab := t.model.vocab[tok.Content]
		i, twice := at[tok.Content]
		if twice {
			id = int32(tokens[i].ID)
		}
		if (inVocab || twice) && int64(id) != tok.ID {
			return nil, fmt.Errorf("added_tokens: %s has the ids %d and %d in the files; use the model's original file", clip(tok.Content), id, tok.ID)
		}
		if twice {
			tokens[i] = tok
			continue
		}
		at[tok.Content] = len(tokens)
		tokens = append(tokens, tok)
	}
	return tokens, nil
}

// placeTokens makes the tables by id, sized by the number of tokens, not the largest id.
func (t *Tokenizer) placeTokens(added []addedToken) error {
	vocab := t.model.vocab
	largest, count := int64(-1), len(vocab)+len(added)
	for _, id := range vocab {
		largest = max(largest, int64(id))
	}
	for _, tok := range added {
		largest = max(largest, tok.ID)
	}
	if limit := 64*int64(count) + 1<<16; largest >= limit {
		return fmt.Errorf("the largest id %d is too large for %d tokens (limit %d); use the model's original file", largest, count, limit)
	}
	t.content = make([]string, largest+1)
	t.flags = make([]tokenFlag, largest+1)
	// A map of its own: the model must not find added tokens in its words.
	t.addedIDs = make(map[string]int32, len(added))
	place := func(content string, id int32, flags tokenFlag) error {
		if t.flags[id]&flagKnown != 0 && t.content[id] != content {
			return fmt.Errorf("id %d belongs to two tokens, %s and %s; use the model's original file", id, clip(min(t.content[id], content)), clip(max(t.content[id], content)))
		}
		t.content[id] = content
		t.flags[id] |= flagKnown | flags
		return nil
	}
	for content, id := range vocab {
		if err := place(content, id, 0); err != nil {
			return err
		}
	}
	for _, tok := range added {
		var flags tokenFlag
		if tok.Special {
			flags = flagSpecial
		}
		t.addedIDs[tok.Content] = int32(tok.ID)
		if err := place(tok.Content, int32(tok.ID), flags); err != nil {
			return err
		}
	}
	return nil
}

// renderTokens fills the table of what each id stands for.
func (t *Tokenizer) renderTokens() {
	t.bytesEnd = make([]uint32, len(t.content))
	t.bytes = make([]byte, 0, 8*len(t.content))
	for id, content := range t.content {
		if t.flags[id]&flagKnown != 0 {
			var flags tokenFlag
			t.bytes, flags = t.decoder.render(t.bytes, content, false)
			t.flags[id] |= flags
		}
		t.bytesEnd[id] = uint32(len(t.bytes))
	}
}
