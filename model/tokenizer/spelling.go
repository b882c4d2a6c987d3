package tokenizer

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// TokenContent returns a token as the files write it (in the byte-level alphabet or with ▁
// for a space), empty for an unknown id.
func (t *Tokenizer) TokenContent(id int32) string {
	if t.flag(id)&flagKnown == 0 {
		return ""
	}
	return t.content[id]
}

// Spelling returns the bytes that each id adds to a text that has begun, nil for an unknown
// id. They are frozen. The tokens of a text, special ones left out, spell the text that
// [Stream] decodes after a context, with two exceptions: bytes that are not UTF-8 become
// U+FFFD there, and a byte order mark of byte tokens is left out.
//
// It fails if what a token adds depends on the tokens beside it.
func (t *Tokenizer) Spelling() ([][]byte, error) {
	if t.decoder.join == joinSpaces {
		return nil, errors.New("the tokenizer has no decoder, so a token's text depends on its place; use a tokenizer.json with a decoder")
	}
	for _, step := range t.decoder.onText {
		switch {
		case step.strip != "" && step.stop > 0:
			return nil, fmt.Errorf("the tokenizer's decoder removes %q at the end of a text, so a token's text depends on its place; use the model's original file", step.strip)
		case step.strip == "" && utf8.RuneCountInString(step.from) != 1:
			return nil, fmt.Errorf("the tokenizer's decoder replaces %q in the whole text, so a token's text depends on those beside it; use the model's original file", step.from)
		}
	}
	all := make([][]byte, t.VocabSize())
	for id := range all {
		text := t.TokenBytes(int32(id))
		for _, step := range t.decoder.onText {
			if step.strip == "" && bytes.Contains(text, []byte(step.from)) {
				text = bytes.ReplaceAll(text, []byte(step.from), []byte(step.to))
			}
		}
		all[id] = text
	}
	return all, nil
}
