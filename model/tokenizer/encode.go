package tokenizer

import "math"

// EncodeOptions are options of Encode. The zero value encodes the text alone and
// recognises no special tokens in it, which is right for text from outside;
// Hugging Face sets both AddSpecial and ParseSpecial by default.
type EncodeOptions struct {
	// AddSpecial adds the post-processor's tokens around the text, usually BOS in front.
	AddSpecial bool
	// ParseSpecial recognises special tokens within the text. Without it
	// their text is encoded like any other. Added tokens that are not
	// special are recognised either way.
	ParseSpecial bool
	// Plain are ranges [start, end) of bytes of the text, in order, where
	// ParseSpecial does not hold: a special token that has a byte in one is
	// encoded as text. Chat prompts have the client's text there.
	Plain [][2]int
	// If Max is above 0, encoding stops soon after Max ids. A result with more than Max
	// ids is incomplete, and ids after the first Max may be wrong.
	Max int
}

// Encode returns the ids of text, owned by the caller. Invalid UTF-8 becomes U+FFFD.
func (t *Tokenizer) Encode(text string, opts EncodeOptions) []int32 {
	text, plain := lossyAt(text, opts.Plain)
	e := encoder{t: t, where: specials{opts.ParseSpecial, plain}, most: opts.Max}
	if e.most <= 0 {
		e.most = math.MaxInt
	}
	room := len(text)/3 + len(t.around.before) + len(t.around.after) + 4
	e.ids = make([]int32, 0, min(room, max(e.most, firstIDs)))
	if opts.AddSpecial {
		e.ids = append(e.ids, t.around.before...)
	}
	e.scratch = t.scratch.get()
	t.literal.split(text, e.where, e.text, e.token)
	t.scratch.put(e.scratch)
	if opts.AddSpecial {
		e.ids = append(e.ids, t.around.after...)
	}
	return e.ids
}

// firstIDs is the capacity for ids at first if Max allows fewer than the text may have.
const firstIDs = 1 << 12

// encoder is one call of Encode. Its methods return false when ids exceed Max.
type encoder struct {
	t       *Tokenizer
	where   specials
	most    int
	ids     []int32
	scratch *scratch
}

func (e *encoder) more() bool { return len(e.ids) <= e.most }

func (e *encoder) token(tok *addedToken) bool {
	e.ids = append(e.ids, int32(tok.ID))
	return e.more()
}

// text encodes the part between two added tokens of the text.
func (e *encoder) text(part string, start int) bool {
	where := specials{parse: e.where.parse}
	if len(e.where.plain) > 0 && e.t.normalizedSpecial {
		part, where = e.t.normalizeAround(part, e.where.within(start, start+len(part)))
	} else {
		part = e.t.normal(part)
	}
	return e.t.normalized.split(part, where, func(part string, inner int) bool {
		return e.t.pre.run(part, start == 0 && inner == 0, e.piece)
	}, e.token)
}

func (t *Tokenizer) normal(text string) string {
	for _, step := range t.normalize {
		text = step(text)
	}
	return text
}

func (e *encoder) piece(piece string) bool {
	m := e.t.model
	for {
		end := m.wordEnd(piece)
		word := piece[:end]
		if left := e.most - len(e.ids); m.exceeds(word, left) {
			e.ids = m.unmerged(e.scratch, word, left+1, e.ids)
			return false
		}
		e.ids = m.appendWord(e.scratch, word, e.ids)
		if !e.more() {
			return false
		}
		if end == len(piece) {
			return true
		}
		piece = piece[end:]
	}
}
