package output

import "strings"

// marks finds the first of some texts in a stream of bytes. No mark may be a prefix of another.
type marks struct {
	list  []string
	first [256]bool
}

func newMarks(list ...string) *marks {
	m := &marks{}
	for _, s := range list {
		if s != "" {
			m.list = append(m.list, s)
			m.first[s[0]] = true
		}
	}
	return m
}

// look says whether a text is a mark, or else whether it may become one.
func (m *marks) look(held []byte) (mark string, may bool) {
	for _, s := range m.list {
		if len(held) <= len(s) && s[:len(held)] == string(held) {
			if len(held) == len(s) {
				return s, true
			}
			may = true
		}
	}
	return "", may
}

// tail returns how many bytes at the end of a text may become a mark.
func (m *marks) tail(text []byte) int {
	longest := 0
	for _, s := range m.list {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if strings.HasPrefix(s, string(text[len(text)-n:])) {
				longest = n
				break
			}
		}
	}
	return longest
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
