package tokenizer

import "strings"

const (
	maxTextPattern = 64      // bytes of a pattern replaced in joined text
	maxStrip       = 1 << 10 // characters stripped from either end
)

// textStep rewrites joined text: it replaces a literal or strips characters at the ends.
type textStep struct {
	from, to    string
	strip       string // one character; empty for a replacement
	start, stop int    // at most this many are stripped from each end
}

// textState applies a step to text that arrives in pieces. It keeps back what
// later text could still change: a possible beginning of the pattern, or
// characters that may be stripped at the end.
type textState struct {
	left int // characters that may still be stripped from the start
	held string
}

func (s textStep) begin() textState { return textState{left: s.start} }

// push returns the text that is final after text arrived.
func (st *textState) push(s *textStep, text string) string {
	if s.strip == "" {
		return st.replace(s, text)
	}
	for st.left > 0 && text != "" {
		if !strings.HasPrefix(text, s.strip) {
			st.left = 0
			break
		}
		text = text[len(s.strip):]
		st.left--
	}
	if s.stop == 0 {
		return text
	}
	text = st.held + text
	end := len(text)
	for i := 0; i < s.stop && strings.HasSuffix(text[:end], s.strip); i++ {
		end -= len(s.strip)
	}
	st.held = text[end:]
	return text[:end]
}

func (st *textState) replace(s *textStep, text string) string {
	parts := strings.Split(st.held+text, s.from)
	last := &parts[len(parts)-1]
	end := len(*last) - heldPrefix(*last, s.from)
	st.held, *last = (*last)[end:], (*last)[:end]
	return strings.Join(parts, s.to)
}

// end returns what was kept back.
func (st *textState) end(s *textStep) string {
	held := st.held
	*st = s.begin()
	if s.strip != "" {
		return ""
	}
	return held
}

// heldPrefix returns the length of the longest end of text that is a beginning
// of from, and not all of it.
func heldPrefix(text, from string) int {
	for n := min(len(from)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, from[:n]) {
			return n
		}
	}
	return 0
}
