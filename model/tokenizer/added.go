package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is looked for in the text itself.
type addedToken struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only between characters that are not of a word
	LStrip     bool   `json:"lstrip"`      // takes the white space before it
	RStrip     bool   `json:"rstrip"`      // takes the white space behind it
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
	token *addedToken // ends here, nil for none
}

type trieEdge struct {
	b    byte
	node int32
}

// add makes the matcher find text as tok. Of two tokens with one text the
// first wins.
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

// find returns the first match at or after from, nil without one.
func (m *matcher) find(s string, from int) (start, end int, tok *addedToken) {
	if m.nodes == nil {
		return 0, 0, nil
	}
	for i := from; i < len(s); i++ {
		if !m.first[s[i]] {
			continue
		}
		node := int32(0)
		for j := i; j < len(s); j++ {
			if node = m.child(node, s[j]); node < 0 {
				break
			}
			if t := m.nodes[node].token; t != nil {
				tok, end = t, j+1
			}
		}
		if tok != nil {
			return i, end, tok
		}
	}
	return 0, 0, nil
}

// split cuts s into text and added tokens. Special tokens are left in the text
// unless parseSpecial; a text inside such a token is then not searched again.
func (m *matcher) split(s string, parseSpecial bool, text func(part string, start int), token func(*addedToken)) {
	done, from := 0, 0
	for {
		start, end, tok := m.find(s, from)
		if tok == nil {
			break
		}
		from = end
		if tok.Special && !parseSpecial {
			continue
		}
		if tok.SingleWord && (wordBefore(s[:start]) || wordAfter(s[end:])) {
			continue
		}
		if tok.LStrip {
			start = len(strings.TrimRightFunc(s[:start], unicode.IsSpace))
		}
		if tok.RStrip {
			end = len(s) - len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))
		}
		if start > done {
			text(s[done:start], done)
		}
		token(tok)
		done = max(done, end)
	}
	if done < len(s) {
		text(s[done:], done)
	}
}

func wordBefore(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && isWordChar(r)
}

func wordAfter(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && isWordChar(r)
}

// isWordChar is \w of Unicode's regular expressions.
func isWordChar(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc,
		unicode.Other_Alphabetic, unicode.Join_Control)
}
