package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxJSONDepth bounds nesting; real files use about eight levels.
const maxJSONDepth = 64

// jsonScanner walks one JSON document that is valid UTF-8 without building a
// tree: a vocabulary has hundreds of thousands of entries, and the generic
// decoder takes several times as long. Values it does not look into are
// skipped with [jsonScanner.raw] and decoded by encoding/json, which checks
// their syntax.
type jsonScanner struct {
	data  []byte
	pos   int
	depth int
}

func (s *jsonScanner) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", s.pos, fmt.Sprintf(format, args...))
}

// peek returns the next byte that is not white space, 0 at the end.
func (s *jsonScanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *jsonScanner) expect(c byte) error {
	got := s.peek()
	if got == 0 {
		return s.errorf("the file ends where %q should be", c)
	}
	if got != c {
		return s.errorf("found %q where %q should be", got, c)
	}
	s.pos++
	return nil
}

func (s *jsonScanner) enter() error {
	if s.depth++; s.depth > maxJSONDepth {
		return s.errorf("nested deeper than %d levels", maxJSONDepth)
	}
	return nil
}

// object calls field for each key; field must consume the value.
func (s *jsonScanner) object(field func(key string) error) error {
	return s.list('{', '}', func() error {
		key, err := s.str()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return field(key)
	})
}

// array calls item before each element; item must consume it.
func (s *jsonScanner) array(item func() error) error { return s.list('[', ']', item) }

func (s *jsonScanner) list(opening, closing byte, item func() error) error {
	if err := s.expect(opening); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	if s.peek() == closing {
		s.pos++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if s.peek() == closing {
			s.pos++
			return nil
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

// str reads a string.
func (s *jsonScanner) str() (string, error) {
	text, err := s.text()
	return string(text), err
}

// text reads a string; the result may alias the document.
func (s *jsonScanner) text() ([]byte, error) {
	start, escaped, err := s.skipStr()
	if err != nil || !escaped {
		return s.data[start:max(start, s.pos-1)], err
	}
	var out string
	if err := json.Unmarshal(s.data[start-1:s.pos], &out); err != nil {
		return nil, s.errorf("%v", err)
	}
	return []byte(out), nil
}

// skipStr moves behind a string and returns where its body starts.
func (s *jsonScanner) skipStr() (start int, escaped bool, err error) {
	if err := s.expect('"'); err != nil {
		return s.pos, false, err
	}
	start = s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '\\':
			escaped = true
			s.pos += 2
		case c == '"':
			s.pos++
			return start, escaped, nil
		case c < ' ':
			return start, false, s.errorf("control character in a string")
		default:
			s.pos++
		}
	}
	s.pos = len(s.data)
	return start, false, s.errorf("the file ends inside a string")
}

// integer reads a whole number that fits 53 bits.
func (s *jsonScanner) integer() (int64, error) {
	c := s.peek()
	if c != '-' && (c < '0' || c > '9') {
		return 0, s.errorf("found %q where a whole number should be", c)
	}
	neg := c == '-'
	if neg {
		s.pos++
	}
	var n int64
	digits := 0
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		if n = n*10 + int64(s.data[s.pos]-'0'); n > 1<<53 {
			return 0, s.errorf("the number is too large")
		}
		s.pos++
		digits++
	}
	if digits == 0 {
		return 0, s.errorf("a minus sign without digits")
	}
	if s.pos < len(s.data) {
		if c := s.data[s.pos]; c == '.' || c == 'e' || c == 'E' {
			return 0, s.errorf("the number is not whole")
		}
	}
	if neg {
		n = -n
	}
	return n, nil
}

// raw skips one value and returns its text; its inner syntax is unchecked
// except for balanced brackets.
func (s *jsonScanner) raw() (json.RawMessage, error) {
	c := s.peek()
	start, depth := s.pos, 0
	for s.pos < len(s.data) {
		switch c {
		case '"':
			if _, _, err := s.skipStr(); err != nil {
				return nil, err
			}
		case '{', '[':
			if depth++; depth+s.depth > maxJSONDepth {
				return nil, s.errorf("nested deeper than %d levels", maxJSONDepth)
			}
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			s.pos++
		default:
			if !s.atom() {
				return nil, s.errorf("unexpected %q", c)
			}
		}
		if depth < 0 {
			return nil, s.errorf("unexpected %q", c)
		}
		if depth == 0 {
			return s.data[start:s.pos], nil
		}
		c = s.peek()
	}
	return nil, s.errorf("the file ends inside a value")
}

// atom skips a number, true, false or null.
func (s *jsonScanner) atom() bool {
	start := s.pos
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '-' && c != '+' && c != '.' && c != 'E' {
			break
		}
		s.pos++
	}
	return s.pos > start
}

// end checks that nothing follows the document.
func (s *jsonScanner) end() error {
	if c := s.peek(); c != 0 || s.pos < len(s.data) {
		return s.errorf("unexpected %q after the end of the document", c)
	}
	return nil
}

var errNotUTF8 = errors.New("the file is not UTF-8 text; download it again")

func checkUTF8(data []byte) error {
	if !utf8.Valid(data) {
		return errNotUTF8
	}
	return nil
}

// decodeJSON decodes data strictly enough to name the wrong field.
func decodeJSON(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		var typeErr *json.UnmarshalTypeError
		if errors.As(err, &typeErr) && typeErr.Field != "" {
			return fmt.Errorf("field %q is a %s, want %s", typeErr.Field, typeErr.Value, typeErr.Type)
		}
		return err
	}
	return nil
}
