package tokenizer

// EncodeOptions says how text becomes ids. The zero value encodes the text
// alone and takes nothing in it for a special token, which is right for text
// from outside; Hugging Face's own default is to set both.
type EncodeOptions struct {
	// AddSpecial puts the tokens around the text that the model's
	// post-processor asks for, usually BOS in front.
	AddSpecial bool
	// ParseSpecial recognises special tokens within the text. Without it
	// their text is encoded like any other. Added tokens that are not
	// special are recognised either way.
	ParseSpecial bool
}

// Encode returns the ids of text. The caller owns the result. Invalid UTF-8 is
// encoded as U+FFFD.
func (t *Tokenizer) Encode(text string, opts EncodeOptions) []int32 {
	text = lossy(text)
	ids := make([]int32, 0, len(text)/3+len(t.around.before)+len(t.around.after)+4)
	if opts.AddSpecial {
		ids = append(ids, t.around.before...)
	}
	s := t.scratch.get()
	word := func(piece string) { ids = t.model.appendPiece(s, piece, t.pre.rawBytes, ids) }
	token := func(tok *addedToken) { ids = append(ids, int32(tok.ID)) }
	t.literal.split(text, opts.ParseSpecial, func(part string, start int) {
		for _, step := range t.normalize {
			part = step(part)
		}
		t.normalized.split(part, opts.ParseSpecial, func(part string, inner int) {
			t.pre.run(part, start == 0 && inner == 0, word)
		}, token)
	}, token)
	t.scratch.put(s)
	if opts.AddSpecial {
		ids = append(ids, t.around.after...)
	}
	return ids
}

// DecodeOptions says how ids become text. The zero value gives the text of
// every token.
type DecodeOptions struct {
	// SkipSpecial leaves special tokens out.
	SkipSpecial bool
	// CleanUpSpaces removes the spaces before punctuation and English
	// contractions as clean_up_tokenization_spaces does, whatever the
	// model's files say about it.
	CleanUpSpaces bool
}

// Decode returns the text of ids. Unknown ids, negative and out of range ones
// included, are left out. Bytes that are not UTF-8 become U+FFFD.
func (t *Tokenizer) Decode(ids []int32, opts DecodeOptions) string {
	contents := make([]string, 0, len(ids))
	for _, id := range ids {
		if t.decodes(id, opts) {
			contents = append(contents, t.content[id])
		}
	}
	text := t.decoder.text(contents)
	if opts.CleanUpSpaces {
		for _, step := range cleanUp {
			text = step.apply(text)
		}
	}
	return text
}

// decodes reports whether id has a part in decoded text.
func (t *Tokenizer) decodes(id int32, opts DecodeOptions) bool {
	f := t.flag(id)
	return f&flagKnown != 0 && !(opts.SkipSpecial && f&flagSpecial != 0)
}
