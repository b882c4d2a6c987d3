package tokenizer

import (
	"bytes"
	"fmt"
	"strings"
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
	fuseUnk      bool  // a run of unknown characters gives one unk
	byteFallback bool
	fallback     [256]int32 // id of <0x00> to <0xFF>, -1 where there is none
	ignoreMerges bool       // a word that is a token is that token
	prefix       string     // continuing_subword_prefix
	suffix       string     // end_of_word_suffix

	byteIDs [256]int32 // id of each byte's character in the byte-level alphabet, -1 without
	longest int        // bytes of the longest token
	// longestID is the most bytes of a word that one id of it stands for; 0
	// where there is no bound.
	longestID int
	// starts has the bytes of the longest token by the first startBytes of what
	// it stands for, where it has more; nil where ids cannot be counted so.
	starts map[uint32]uint16

	// wordMark, where not empty, is a character that no token has behind a
	// different character. No merge crosses the border in front of it, so a
	// text may be cut there without changing the result.
	wordMark string
}

// parseBPE reads the "model" object that the scanner stands at.
func parseBPE(s *jsonScanner) (*bpe, error) {
	m := &bpe{unk: -1}
	var unk *string
	var mergesAt *jsonScanner
	err := s.object(func(key string) error {
		switch key {
		case "vocab":
			return m.parseVocab(s)
		case "merges":
			// Read last: merges refer to the vocabulary and the prefix.
			at := *s
			mergesAt = &at
			_, err := s.raw()
			return err
		}
		value, err := s.raw()
		if err != nil {
			return err
		}
		var dropout *float64
		var text *string
		var flag *bool
		into, set := any(nil), func() {}
		switch key {
		case "type":
			into, set = &text, func() {}
		case "dropout":
			into = &dropout
		case "unk_token":
			into, set = &text, func() { unk = text }
		case "continuing_subword_prefix":
			into, set = &text, func() { m.prefix = *text }
		case "end_of_word_suffix":
			into, set = &text, func() { m.suffix = *text }
		case "fuse_unk":
			into, set = &flag, func() { m.fuseUnk = *flag }
		case "byte_fallback":
			into, set = &flag, func() { m.byteFallback = *flag }
		case "ignore_merges":
			into, set = &flag, func() { m.ignoreMerges = *flag }
		default:
			return nil
		}
		if err := decodeJSON(value, into); err != nil {
			return fmt.Errorf("model.%s: %w", key, err)
		}
		if key == "type" && text != nil && *text != "BPE" {
			return fmt.Errorf("model.type %q is not implemented (known: BPE)", *text)
		}
		if dropout != nil && *dropout != 0 {
			return fmt.Errorf("model.dropout is %g: encoding would be random; set it to null", *dropout)
		}
		if text != nil || flag != nil {
			set()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if m.vocab == nil {
		return nil, fmt.Errorf("model.vocab is missing; the file is no BPE tokenizer or incomplete, download it again")
	}
	if mergesAt == nil {
		return nil, fmt.Errorf("model.merges is missing; the file is no BPE tokenizer or incomplete, download it again")
	}
	merges, err := m.parseMerges(mergesAt)
	if err != nil {
		return nil, err
	}
	m.pairs = newPairTable(len(merges))
	for rank, p := range merges {
		m.pairs.set(p.left, p.right, uint32(rank), p.merged)
	}
	if unk != nil {
		id, ok := m.vocab[*unk]
		if !ok {
			return nil, fmt.Errorf("model.unk_token %q is not in model.vocab; add it or set unk_token to null", *unk)
		}
		m.unk = id
	}
	m.index()
	return m, nil
}

func (m *bpe) parseVocab(s *jsonScanner) error {
	if m.vocab != nil {
		return s.errorf("model.vocab appears twice; remove one")
	}
	if s.peek() == '[' {
		return s.errorf("model.vocab is a list, as in Unigram models; only BPE with an object of token to id is implemented")
	}
	m.vocab = make(map[string]int32, min((len(s.data)-s.pos)/32, 1<<18))
	return s.object(func(token string) error {
		id, err := s.integer()
		if err != nil {
			return fmt.Errorf("model.vocab[%s]: %w", clip(token), err)
		}
		if err := checkToken(token, id); err != nil {
			return fmt.Errorf("model.vocab[%s]: %w", clip(token), err)
		}
		if _, twice := m.vocab[token]; twice {
			return fmt.Errorf("model.vocab[%s]: the token appears twice; remove one", clip(token))
		}
		m.vocab[token] = int32(id)
		m.longest = max(m.longest, len(token))
		return nil
	})
}

// checkToken refuses what would cost memory or time in proportion to a claim.
func checkToken(token string, id int64) error {
	if id < 0 || id > maxTokenID {
		return fmt.Errorf("id %d is outside [0, %d]; correct the file", id, maxTokenID)
	}
	if len(token) > maxTokenLen {
		return fmt.Errorf("the token has %d bytes, more than %d; correct the file", len(token), maxTokenLen)
	}
	return nil
}

type merge struct{ left, right, merged int32 }

// parseMerges reads a list of "left right" strings or [left, right] pairs.
func (m *bpe) parseMerges(s *jsonScanner) ([]merge, error) {
	var merges []merge
	prefix, joined := []byte(m.prefix), make([]byte, 0, 256)
	err := s.array(func() error {
		left, right, err := mergeParts(s)
		if err != nil {
			return fmt.Errorf("model.merges[%d]: %w", len(merges), err)
		}
		joined = append(append(joined[:0], left...), bytes.TrimPrefix(right, prefix)...)
		p, missing := m.merge(left, right, joined)
		if missing != nil {
			return fmt.Errorf("model.merges[%d]: token %s is not in model.vocab; vocabulary and merges do not belong together, download the file again", len(merges), clip(string(missing)))
		}
		merges = append(merges, p)
		return nil
	})
	return merges, err
}

// merge looks up a merge's three tokens; missing is the first that is not there.
func (m *bpe) merge(left, right, joined []byte) (p merge, missing []byte) {
	var ok bool
	if p.left, ok = m.vocab[string(left)]; !ok {
		return p, left
	}
	if p.right, ok = m.vocab[string(right)]; !ok {
		return p, right
	}
	if p.merged, ok = m.vocab[string(joined)]; !ok {
		return p, joined
	}
	return p, nil
}

func mergeParts(s *jsonScanner) (left, right []byte, err error) {
	if s.peek() != '[' {
		text, err := s.text()
		if err != nil {
			return nil, nil, err
		}
		i := bytes.IndexByte(text, ' ')
		if i < 0 || bytes.IndexByte(text[i+1:], ' ') >= 0 {
			return nil, nil, fmt.Errorf("%s is not two tokens separated by one space", clip(string(text)))
		}
		return text[:i], text[i+1:], nil
	}
	n := 0
	err = s.array(func() error {
		part, err := s.text()
		switch n++; n {
		case 1:
			left = part
		case 2:
			right = part
		}
		return err
	})
	if err == nil && n != 2 {
		err = fmt.Errorf("has %d parts, want 2", n)
	}
	return left, right, err
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

// clip quotes s for an error message, shortened.
func clip(s string) string {
	if len(s) > 60 {
		return fmt.Sprintf("%.60q…", s)
	}
	return fmt.Sprintf("%q", s)
}
