package tokenizer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/internal/jsonread"
)

const (
	// maxTokenID bounds ids; the largest vocabularies have about 2^18.
	maxTokenID = 1<<24 - 1
	// maxTokenLen bounds the text of one token in bytes; real ones stay
	// below 256, and matching added tokens costs up to this much per byte.
	maxTokenLen = 4096
)

// bpe is the model part of the pipeline. Immutable after load.
type bpe struct {
	vocab map[string]int32
	pairs *pairTable

	unk          int32 // id for unknown characters, -1 to drop them
	fuseUnk      bool  // a run of unknown characters becomes one unk
	unkMerges    bool  // unk merges with other tokens, so an id may stand for any text
	byteFallback bool
	fallback     [256]int32 // id of <0x00> to <0xFF>, -1 where there is none
	ignoreMerges bool       // a word that is a token is that token
	rawBytes     bool       // text comes as bytes, not in the byte-level alphabet
	prefix       string     // continuing_subword_prefix
	suffix       string     // end_of_word_suffix

	byteIDs [256]int32 // id of each byte's character in the byte-level alphabet, -1 without
	longest int        // bytes of the longest token
	// longestID is the most bytes of a word that one id stands for; 0 without a bound.
	longestID int
	// starts has the length in bytes of the longest token by its first
	// startBytes, for tokens that have more; nil if ids cannot be counted so.
	starts map[uint32]uint16

	// wordMark, if not empty, is a character that no token has after a different
	// character. No merge crosses the border before it, so a text may be cut
	// there without changing the result.
	wordMark string
}

// parseBPE reads the "model" object.
func parseBPE(r *jsonread.Reader) (*bpe, error) {
	m := &bpe{unk: -1}
	var kind, unk *string
	var dropout float64
	settings := map[string]any{
		"type": &kind, "dropout": &dropout, "unk_token": &unk, "continuing_subword_prefix": &m.prefix, "end_of_word_suffix": &m.suffix,
		"fuse_unk": &m.fuseUnk, "byte_fallback": &m.byteFallback, "ignore_merges": &m.ignoreMerges,
	}
	var merges []mergeText
	err := r.Object(func(key []byte) (err error) {
		name := string(key)
		switch name {
		case "vocab":
			return m.readVocab(r)
		case "merges":
			merges, err = readMerges(r)
			return err
		}
		value, err := r.Raw()
		if into, known := settings[name]; known && err == nil {
			err = decodeField(value, "model."+name, into)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case kind != nil && *kind != "BPE":
		return nil, fmt.Errorf("model.type %q is not supported; supported: BPE", *kind)
	case dropout != 0:
		return nil, fmt.Errorf("model.dropout is %g: encoding would be random; set it to null", dropout)
	case m.vocab == nil:
		return nil, errors.New("model.vocab is missing; the file is not a BPE tokenizer or is incomplete; download it again")
	case merges == nil:
		return nil, errors.New("model.merges is missing; the file is not a BPE tokenizer or is incomplete; download it again")
	}
	if err := m.takeMerges(merges); err != nil {
		return nil, err
	}
	if unk != nil {
		id, ok := m.vocab[*unk]
		if !ok {
			return nil, fmt.Errorf("model.unk_token %q is not in model.vocab; use the model's original file", *unk)
		}
		m.unk = id
		m.unkMerges = slices.ContainsFunc(merges, func(t mergeText) bool { return string(t.left) == *unk || string(t.right) == *unk })
	}
	m.index()
	return m, nil
}

func (m *bpe) readVocab(r *jsonread.Reader) error {
	if m.vocab != nil {
		return errors.New("model.vocab appears twice; use the model's original file")
	}
	if r.Kind() == '[' {
		return errors.New("model.vocab is a list, as in Unigram models; only BPE with an object of token to id is supported")
	}
	m.vocab = make(map[string]int32, min(r.Left()/32, 1<<18))
	return r.Object(func(key []byte) error {
		token := string(key)
		id, err := r.Int()
		if err == nil {
			err = checkToken(token, id)
		}
		if _, twice := m.vocab[token]; err == nil && twice {
			err = errors.New("the token appears twice; use the model's original file")
		}
		if err != nil {
			return fmt.Errorf("model.vocab[%s]: %w", clip(token), err)
		}
		m.vocab[token] = int32(id)
		m.longest = max(m.longest, len(token))
		return nil
	})
}

// checkToken refuses ids and tokens that would cost too much memory or time.
func checkToken(token string, id int64) error {
	if id < 0 || id > maxTokenID {
		return fmt.Errorf("id %d is not between 0 and %d; use the model's original file", id, maxTokenID)
	}
	if len(token) > maxTokenLen {
		return fmt.Errorf("the token has %d bytes; at most %d are allowed; use the model's original file", len(token), maxTokenLen)
	}
	return nil
}

// index derives the lookup tables from the vocabulary.
func (m *bpe) index() {
	for b := range 256 {
		m.byteIDs[b], m.fallback[b] = -1, -1
		if id, ok := m.vocab[string(byteToRune[b])]; ok {
			m.byteIDs[b] = id
		}
		if id, ok := m.vocab[fmt.Sprintf("<0x%02X>", b)]; ok {
			m.fallback[b] = id
		}
	}
	const mark = "▁"
	if _, ok := m.vocab[mark]; !ok || m.ignoreMerges || m.prefix != "" || m.suffix != "" {
		return
	}
	for token := range m.vocab {
		if i := strings.Index(strings.TrimLeft(token, mark), mark); i > 0 {
			return
		}
	}
	m.wordMark = mark
}
