package request

import "strings"

// textBuffer collects pieces of text. A single piece is not copied.
type textBuffer struct {
	one  string
	many strings.Builder
}

func (b *textBuffer) add(s string) {
	switch {
	case s == "":
	case b.one == "" && b.many.Len() == 0:
		b.one = s
	default:
		if b.many.Len() == 0 {
			b.many.WriteString(b.one)
			b.one = ""
		}
		b.many.WriteString(s)
	}
}

func (b *textBuffer) empty() bool { return b.one == "" && b.many.Len() == 0 }

func (b *textBuffer) text() string {
	if b.one != "" {
		return b.one
	}
	return b.many.String()
}
