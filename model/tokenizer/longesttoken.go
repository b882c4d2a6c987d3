package tokenizer

import (
	"encoding/binary"
	"unicode/utf8"
)

// LongestToken returns the most bytes of text that one id can stand for, so
// that a text of more than n x LongestToken bytes certainly has more than n ids.
// 0 means that there is no bound: characters that the vocabulary lacks are
// dropped or joined, or a step removes text.
//
// It is the longest token, in bytes of text for byte-level vocabularies, times what the
// normalizers can shorten a text by (3 for NFD and Lowercase, 4 for NFC, NFKC and NFKD,
// the ratio of the lengths for a replacement). What a normalizer puts in front only makes
// it longer, and a byte of a fallback token is one byte.
//
// White space beside added tokens that include it (lstrip, rstrip) does not count:
// such a text can have any length and few ids.
func (t *Tokenizer) LongestToken() int { return t.longest }

// bound finds how many bytes an id stands for at most.
func (t *Tokenizer) bound(added []addedToken) {
	m := t.model
	m.longestID = 0
	if unknown := m.lacksBytes(); unknown && (m.unk < 0 || m.fuseUnk || m.unkMerges) {
		return
	} else if unknown {
		m.longestID = utf8.UTFMax
	}
	m.measure()
	if t.shrink == 0 {
		return
	}
	t.longest = t.shrink * m.longestID
	for i := range added {
		n := len(added[i].Content)
		if added[i].Normalized {
			n = t.shrink * len(t.normal(added[i].Content))
		}
		t.longest = max(t.longest, n)
	}
}

const startBytes = 4

// measure raises longestID to the longest token and fills the table of starts.
func (m *bpe) measure() {
	m.starts = nil
	if m.prefix == "" && m.suffix == "" {
		m.starts = make(map[uint32]uint16, len(m.vocab)/2)
	}
	buf := make([]byte, 0, m.longest)
	for token := range m.vocab {
		if m.rawBytes {
			buf = appendCharBytes(buf[:0], token)
		} else {
			buf = append(buf[:0], token...)
		}
		m.longestID = max(m.longestID, len(buf))
		if m.starts != nil && len(buf) > startBytes {
			key := binary.LittleEndian.Uint32(buf)
			m.starts[key] = max(m.starts[key], uint16(len(buf)))
		}
	}
}

// exceeds reports that a word certainly has more than n ids, however it is
// merged. If it returns false, the word may still have more.
//
// From each place an id reaches no further than the longest token with the same
// first bytes, so the fewest ids are the fewest such steps to the end.
func (m *bpe) exceeds(word string, n int) bool {
	switch {
	case m.longestID == 0 || len(word) <= n:
		return false
	case len(word)/m.longestID > n:
		return true
	case m.starts == nil:
		return false
	}
	steps, end, far := 0, 0, 0
	for i := range len(word) {
		reach := startBytes // no shorter token and no unknown character has more
		if i+startBytes <= len(word) {
			key := uint32(word[i]) | uint32(word[i+1])<<8 | uint32(word[i+2])<<16 | uint32(word[i+3])<<24
			reach = max(reach, int(m.starts[key]))
		}
		far = max(far, i+reach)
		if i == end { // the steps so far reach no further
			if steps++; steps > n {
				return true
			}
			end = far
		}
	}
	return false
}

// lacksBytes reports whether a text can have bytes that no token covers.
func (m *bpe) lacksBytes() bool {
	ids := &m.fallback
	if m.rawBytes {
		ids = &m.byteIDs
	} else if !m.byteFallback {
		return true
	}
	for b := range 0xF5 {
		if b != 0xC0 && b != 0xC1 && ids[b] < 0 { // these are never in UTF-8
			return true
		}
	}
	return false
}
