package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// wordEnd returns where the first word of piece ends: in front of the next
// mark that follows another character, or else with the piece.
func (m *bpe) wordEnd(piece string) int {
	if m.rawBytes || m.wordMark == "" {
		return len(piece)
	}
	i := 0
	for strings.HasPrefix(piece[i:], m.wordMark) {
		i += len(m.wordMark)
	}
	if j := strings.Index(piece[i:], m.wordMark); j >= 0 {
		return i + j
	}
	return len(piece)
}

// unmerged appends the first n symbols of a word that has more.
func (m *bpe) unmerged(s *scratch, word string, n int, dst []int32) []int32 {
	// A symbol stands for a character at most, and no word has fewer symbols than ids.
	end := min(len(word), n*m.longestID)
	for end < len(word) && !utf8.RuneStart(word[end]) {
		end++
	}
	s.merger.reset(0)
	m.addSymbols(s, word[:end])
	return append(dst, s.slots[:min(n, len(s.slots))]...)
}

// appendWord appends the ids of one word, from the cache where possible.
func (m *bpe) appendWord(s *scratch, word string, dst []int32) []int32 {
	if len(word) > cachedWordLen {
		return m.mergeWord(s, word, dst)
	}
	if ids, ok := s.cache[word]; ok {
		return append(dst, ids...)
	}
	start := len(dst)
	dst = m.mergeWord(s, word, dst)
	if len(s.cache) >= cachedWords {
		clear(s.cache)
	}
	s.cache[strings.Clone(word)] = append([]int32(nil), dst[start:]...)
	return dst
}

func (m *bpe) mergeWord(s *scratch, word string, dst []int32) []int32 {
	if m.ignoreMerges && len(word) <= m.longest {
		if m.rawBytes {
			s.buf = appendByteChars(s.buf[:0], word)
		} else {
			s.buf = append(s.buf[:0], word...)
		}
		if id, ok := m.vocab[string(s.buf)]; ok {
			return append(dst, id)
		}
	}
	s.merger.reset(len(word))
	m.addSymbols(s, word)
	return s.merger.run(m.pairs, dst)
}

// addSymbols adds one symbol per byte of a word, or per character.
func (m *bpe) addSymbols(s *scratch, word string) {
	if !m.rawBytes {
		m.addChars(s, word)
		return
	}
	unknown := false
	for i := range len(word) {
		id := m.byteIDs[word[i]]
		if id < 0 {
			m.addUnknown(s, unknown)
			unknown = true
			continue
		}
		unknown = false
		s.add(id)
	}
}

// addChars adds one symbol per character, or one per byte where the character
// is unknown and every byte of it has a fallback token.
func (m *bpe) addChars(s *scratch, word string) {
	unknown := false
	for i := 0; i < len(word); {
		_, n := utf8.DecodeRuneInString(word[i:])
		char := word[i : i+n]
		id, ok := m.charID(s, char, i == 0, i+n == len(word))
		i += n
		switch {
		case ok:
			s.add(id)
			unknown = false
		case m.byteFallback && m.hasFallback(char):
			for j := range len(char) {
				s.add(m.fallback[char[j]])
			}
			unknown = false
		default:
			m.addUnknown(s, unknown)
			unknown = true
		}
	}
}

func (m *bpe) charID(s *scratch, char string, first, last bool) (int32, bool) {
	if (first || m.prefix == "") && (!last || m.suffix == "") {
		id, ok := m.vocab[char]
		return id, ok
	}
	s.buf = s.buf[:0]
	if !first {
		s.buf = append(s.buf, m.prefix...)
	}
	s.buf = append(s.buf, char...)
	if last {
		s.buf = append(s.buf, m.suffix...)
	}
	id, ok := m.vocab[string(s.buf)]
	return id, ok
}

func (m *bpe) hasFallback(char string) bool {
	for i := range len(char) {
		if m.fallback[char[i]] < 0 {
			return false
		}
	}
	return true
}

// addUnknown adds the unknown token unless it fuses with the one before it.
func (m *bpe) addUnknown(s *scratch, afterUnknown bool) {
	if m.unk >= 0 && !(afterUnknown && m.fuseUnk) {
		s.add(m.unk)
	}
}
