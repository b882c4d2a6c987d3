package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is looked for in the text itself.
type addedToken struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only between characters that are not of a word
	LStrip     bool   `json:"lstrip"`      // includes the white space before it
	RStrip     bool   `json:"rstrip"`      // includes the white space after it
	Normalized bool   `json:"normalized"`  // looked for in the normalized text
	Special    bool   `json:"special"`
}

// matcher finds added tokens: the leftmost match, the longest of those. One
// step per byte of text unless the byte begins a token.
type matcher struct {
	nodes []trieNode // nodes[0] is the root
	first [256]bool  // bytes that begin a token
}

type trieNode struct {
	edges []trieEdge
	token *addedToken // that ends here, nil for none
}

type trieEdge struct {
	b    byte
	node int32
}

// add makes the matcher find text as tok. Of two tokens with one text the first wins.
func (m *matcher) add(text string, tok *addedToken) {
	if text == "" {
		return
	}
	if m.nodes == nil {
		m.nodes = []trieNode{{}}
	}
	m.first[text[0]] = true
	at := int32(0)
	for i := range len(text) {
		next := m.child(at, text[i])
		if next < 0 {
			next = int32(len(m.nodes))
			m.nodes = append(m.nodes, trieNode{})
			m.nodes[at].edges = append(m.nodes[at].edges, trieEdge{text[i], next})
		}
		at = next
	}
	if m.nodes[at].token == nil {
		m.nodes[at].token = tok
	}
}

func (m *matcher) child(node int32, b byte) int32 {
	for _, e := range m.nodes[node].edges {
		if e.b == b {
			return e.node
		}
	}
	return -1
}

// specials defines where special tokens are recognised.
type specials struct {
	parse bool
	// plain are ranges [start, end) of bytes of the text, in order. A token
	// that has a byte in one is text.
	plain [][2]int
}

// within is s for the part of its text from start on.
func (s specials) within(start, end int) specials {
	var plain [][2]int
	for _, r := range s.overlapping(start, end) {
		plain = append(plain, [2]int{max(r[0]-start, 0), min(r[1], end) - start})
	}
	return specials{s.parse, plain}
}

// overlapping are the ranges that have a byte of [start, end).
func (s specials) overlapping(start, end int) [][2]int {
	first, _ := slices.BinarySearchFunc(s.plain, start, func(r [2]int, at int) int { return cmp.Compare(r[1], at+1) })
	last := first
	for last < len(s.plain) && s.plain[last][0] < end {
		last++
	}
	return s.plain[first:last]
}

// text reports whether a special token at [start, end) is text, and if so, where
// to look for the next token.
func (s specials) text(start, end int) (is bool, next int) {
	if !s.parse {
		return true, end
	}
	in := s.overlapping(start, end)
	if len(in) == 0 {
		return false, 0
	}
	return true, max(start+1, min(end, in[len(in)-1][1]))
}

// find returns the first match at or after from, nil without one. Special tokens
// that are text are skipped, together with tokens inside them.
func (m *matcher) find(s string, from int, where specials) (start, end int, tok *addedToken) {
	if m.nodes == nil {
		return 0, 0, nil
	}
	for i := from; i < len(s); i++ {
		if !m.first[s[i]] {
			continue
		}
		node := int32(0)
		next := 0 // after a special token that is text
		for j := i; j < len(s); j++ {
			if node = m.child(node, s[j]); node < 0 {
				break
			}
			t := m.nodes[node].token
			if t == nil {
				continue
			}
			if t.Special {
				if text, behind := where.text(i, j+1); text {
					next = behind
					if !where.parse || len(where.overlapping(i, end)) > 0 {
						tok = nil // inside of that text
					}
					continue
				}
			}
			tok, end = t, j+1
		}
		if tok != nil {
			return i, end, tok
		}
		if next > 0 {
			i = next - 1
		}
	}
	return 0, 0, nil
}

// split cuts s into text and added tokens. It ends with false when text or token does.
func (m *matcher) split(s string, where specials, text func(part string, start int) bool, token func(*addedToken) bool) bool {
	done, from := 0, 0
	for {
		start, end, tok := m.find(s, from, where)
		if tok == nil {
			break
		}
		from = end
		before, _ := utf8.DecodeLastRuneInString(s[:start])
		after, _ := utf8.DecodeRuneInString(s[end:])
		if tok.SingleWord && (isWordChar(before) || isWordChar(after)) {
			continue
		}
		if tok.LStrip {
			start = len(strings.TrimRightFunc(s[:start], unicode.IsSpace))
		}
		if tok.RStrip {
			end = len(s) - len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))
		}
		if start > done && !text(s[done:start], done) || !token(tok) {
			return false
		}
		done = max(done, end)
	}
	return done == len(s) || text(s[done:], done)
}

// isWordChar is \w of Unicode's regular expressions, without U+FFFD.
func isWordChar(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc,
		unicode.Other_Alphabetic, unicode.Join_Control)
}
