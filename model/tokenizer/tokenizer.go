package tokenizer

import (
	"maps"
	"unsafe"
)

// Tokenizer encodes and decodes text for one model. Immutable; safe for concurrent use.
type Tokenizer struct {
	model      *bpe
	normalize  []normalizer
	pre        preTokenizers
	around     template
	decoder    decoder
	literal    matcher // added tokens looked for in the text
	normalized matcher // added tokens looked for in the normalized text
	// normalizedSpecial: normalized has a special token.
	normalizedSpecial bool
	longest           int    // what LongestToken returns
	shrink            int    // how many times shorter the steps can make a text, 0: unbounded
	marks             []rune // what SpecialMarks returns
	noMarks           error  // why it returns none
	// spread has how many characters normalizers make of a mark, if more than one.
	spread  map[rune]int
	written string // text that steps of the normalizer insert

	content  []string // text of each id as the files have it
	flags    []tokenFlag
	bytes    []byte           // what each id stands for, end to end
	bytesEnd []uint32         // end of each id's part of bytes
	addedIDs map[string]int32 // ids of added tokens by content

	config  config
	bos     int32 // -1 without
	eos     int32
	scratch scratchPool
}

// tokenFlag holds properties of an id for hot paths.
type tokenFlag uint8

const (
	flagKnown    tokenFlag = 1 << iota // a token has this id
	flagSpecial                        // left out by SkipSpecial
	flagFallback                       // stands for one byte of a fallback run
	flagWhole                          // its bytes are whole characters
)

// VocabSize returns the size of the id space: the largest id, added tokens
// included, plus one. Ids below it need not all be in use.
func (t *Tokenizer) VocabSize() int { return len(t.content) }

// TokenBytes returns the bytes that id stands for, nil for an unknown id. The
// slice is frozen: it is shared and must not be modified.
func (t *Tokenizer) TokenBytes(id int32) []byte {
	if t.flag(id)&flagKnown == 0 {
		return nil
	}
	start, end := t.bytesRange(id)
	return t.bytes[start:end:end]
}

// IsSpecial reports whether id is a special token, which SkipSpecial leaves out.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.flag(id)&flagSpecial != 0 }

// TokenID returns the id of the token with exactly this content, as the files
// write it (in the byte-level alphabet or with ▁ for a space).
func (t *Tokenizer) TokenID(content string) (id int32, ok bool) {
	if id, ok = t.addedIDs[content]; ok {
		return id, true
	}
	id, ok = t.model.vocab[content]
	return id, ok
}

// BOS returns the token that begins a text, if the model's files name one.
func (t *Tokenizer) BOS() (id int32, ok bool) { return t.bos, t.bos >= 0 }

// EOS returns the token that ends a text, if the model's files name one.
func (t *Tokenizer) EOS() (id int32, ok bool) { return t.eos, t.eos >= 0 }

// BOSText and EOSText are the contents of BOS and EOS for chat templates, empty without.
func (t *Tokenizer) BOSText() string { return t.config.bos }
func (t *Tokenizer) EOSText() string { return t.config.eos }

// ChatTemplates returns a copy of the Jinja chat templates by name; the one used without
// a name is "default". A chat_template.jinja file wins over tokenizer_config.json.
func (t *Tokenizer) ChatTemplates() map[string]string { return maps.Clone(t.config.templates) }

func (t *Tokenizer) flag(id int32) tokenFlag {
	if id < 0 || int(id) >= len(t.flags) {
		return 0
	}
	return t.flags[id]
}

func (t *Tokenizer) bytesRange(id int32) (start, end uint32) {
	if id > 0 {
		start = t.bytesEnd[id-1]
	}
	return start, t.bytesEnd[id]
}

// piece is TokenBytes as a string, without copying: they never change after load.
func (t *Tokenizer) piece(id int32) string {
	start, end := t.bytesRange(id)
	if start == end {
		return ""
	}
	return unsafe.String(&t.bytes[start], end-start)
}
