package output

import "regexp"

// verdict is what a machine says about a byte.
type verdict int

const (
	more   verdict = iota // taken; more must come
	done                  // taken; the part is complete
	before                // the part was complete before the byte, which is not taken
	bad                   // the text is not well formed
)

// scanner reads one JSON value byte by byte and copies it. Control characters inside strings,
// which models write and JSON forbids, are escaped.
type scanner struct {
	out   func(string)
	stack []byte // open brackets
	state scanState
	word  []byte // a number or word so far
	hex   int    // hexadecimal digits still to come
}

type scanState int

const (
	scanValue     scanState = iota
	scanFirst               // a value or ]
	scanKeyOrEnd            // a key or }
	scanKey                 // a key
	scanColon               // :
	scanAfter               // , or the end of the innermost bracket
	scanWord                // in a number or word
	scanString              // in a string
	scanKeyString           // in a key
	scanEscape              // after a backslash; the string goes on in back
)

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// isWord reports whether a text is a JSON number, true, false or null.
func isWord(s string) bool {
	return s == "true" || s == "false" || s == "null" || number.MatchString(s)
}

func (s *scanner) step(c byte) verdict {
	switch s.state {
	case scanString, scanKeyString:
		return s.inString(c)
	case scanEscape:
		return s.inEscape(c)
	case scanWord:
		if c > ' ' && c != ',' && c != ']' && c != '}' && c != ':' && c != '"' {
			if len(s.word) == MaxHeader {
				return bad
			}
			s.word = append(s.word, c)
			return more
		}
		if !isWord(string(s.word)) {
			return bad
		}
		s.out(string(s.word))
		if len(s.stack) == 0 {
			return before
		}
		s.state = scanAfter
	}
	if space(c) {
		if len(s.stack) > 0 {
			s.copy(c)
		}
		return more
	}
	switch s.state {
	case scanFirst, scanValue:
		if c == ']' && s.state == scanFirst {
			return s.pop(c)
		}
		return s.value(c)
	case scanKeyOrEnd, scanKey:
		if c == '}' && s.state == scanKeyOrEnd {
			return s.pop(c)
		}
		if c != '"' {
			return bad
		}
		s.state = scanKeyString
	case scanColon:
		if c != ':' {
			return bad
		}
		s.state = scanValue
	case scanAfter:
		open := s.stack[len(s.stack)-1]
		switch {
		case c == ',' && open == '{':
			s.state = scanKey
		case c == ',':
			s.state = scanValue
		case c == '}' && open == '{', c == ']' && open == '[':
			return s.pop(c)
		default:
			return bad
		}
	}
	s.copy(c)
	return more
}

func (s *scanner) copy(c byte) { s.out(byteTexts[c : int(c)+1]) }

func (s *scanner) value(c byte) verdict {
	switch c {
	case '{', '[':
		if len(s.stack) == MaxDepth {
			return bad
		}
		s.stack = append(s.stack, c)
		s.state = scanKeyOrEnd
		if c == '[' {
			s.state = scanFirst
		}
	case '"':
		s.state = scanString
	default:
		s.word = append(s.word[:0], c)
		s.state = scanWord
		return more
	}
	s.copy(c)
	return more
}

func (s *scanner) pop(c byte) verdict {
	s.copy(c)
	s.stack = s.stack[:len(s.stack)-1]
	s.state = scanAfter
	if len(s.stack) == 0 {
		return done
	}
	return more
}

func (s *scanner) inString(c byte) verdict {
	switch {
	case c == '"' && s.state == scanKeyString:
		s.state = scanColon
	case c == '"':
		s.state = scanAfter
		if len(s.stack) == 0 {
			s.copy(c)
			return done
		}
	case c == '\\':
		s.word = append(s.word[:0], byte(s.state))
		s.state, s.hex = scanEscape, 0
	case c < ' ':
		s.out(quoteByte(c))
		return more
	}
	s.copy(c)
	return more
}

// inEscape takes the letter after a backslash, and the four digits after a u.
func (s *scanner) inEscape(c byte) verdict {
	switch {
	case s.hex > 0:
		if hexDigit(c) < 0 {
			return bad
		}
		s.hex--
	case c == 'u':
		s.hex = 4
	case c != '"' && c != '\\' && c != '/' && c != 'b' && c != 'f' && c != 'n' && c != 'r' && c != 't':
		return bad
	}
	if s.hex == 0 {
		s.state = scanState(s.word[0])
	}
	s.copy(c)
	return more
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|32 >= 'a' && c|32 <= 'f':
		return int(c|32-'a') + 10
	}
	return -1
}

// byteTexts has every byte once, so that one byte is a string without an allocation.
var byteTexts = func() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()

// quoteByte is a byte inside a JSON string.
func quoteByte(c byte) string {
	switch c {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if c < ' ' {
		return `\u00` + byteTexts["0123456789abcdef"[c>>4]:][:1] + byteTexts["0123456789abcdef"[c&15]:][:1]
	}
	return byteTexts[c : int(c)+1]
}
