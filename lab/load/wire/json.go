package wire

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep values of an answer may be nested.
const maxDepth = 200

// cursor walks over one JSON value and remembers the first fault. After a
// fault every method does nothing and every loop ends.
//
//	for more := c.open('{'); more; more = c.more('}') {
//		switch string(c.key()) { … each case reads or skips one value }
//	}
type cursor struct {
	b     []byte
	i     int
	depth int
	bad   bool
	names []byte // of keys with escapes
}

func (c *cursor) fail() { c.bad, c.i = true, len(c.b) }

// peek is the next byte that is no white space, 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.b) {
		switch b := c.b[c.i]; b {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return b
		}
	}
	return 0
}

// open enters an object or an array and tells whether it has anything. On
// another value it fails.
func (c *cursor) open(bracket byte) bool {
	if c.peek() != bracket || c.depth == maxDepth {
		c.fail()
		return false
	}
	c.i++
	c.depth++
	if c.peek() == bracket+2 { // '{' and '}', '[' and ']' are two apart
		c.i++
		c.depth--
		return false
	}
	return true
}

// more goes on behind a value, to the next one or out of the bracket.
func (c *cursor) more(closing byte) bool {
	switch c.peek() {
	case ',':
		c.i++
		return true
	case closing:
		c.i++
		c.depth--
	default:
		c.fail()
	}
	return false
}

// key reads the name of a member and its colon. Good until the next key.
func (c *cursor) key() []byte {
	if c.peek() != '"' {
		c.fail()
		return nil
	}
	var key []byte
	if end := bytes.IndexByte(c.b[c.i+1:], '"'); end >= 0 && plain(c.b[c.i+1:c.i+1+end]) {
		key = c.b[c.i+1 : c.i+1+end]
		c.i += end + 2
	} else {
		c.names = c.text(c.names[:0])
		key = c.names
	}
	if c.peek() != ':' {
		c.fail()
		return nil
	}
	c.i++
	return key
}

// plain tells that a string stands for itself.
func plain(s []byte) bool {
	for _, b := range s {
		if b < ' ' || b == '\\' {
			return false
		}
	}
	return true
}

// null reads a null, and tells whether there was one.
func (c *cursor) null() bool {
	if c.peek() != 'n' {
		return false
	}
	c.word("null")
	return true
}

func (c *cursor) word(w string) {
	if len(c.b)-c.i < len(w) || string(c.b[c.i:c.i+len(w)]) != w {
		c.fail()
		return
	}
	c.i += len(w)
}

// skip passes over one value, checking its form.
func (c *cursor) skip() {
	switch b := c.peek(); b {
	case '{':
		for more := c.open('{'); more; more = c.more('}') {
			c.key()
			c.skip()
		}
	case '[':
		for more := c.open('['); more; more = c.more(']') {
			c.skip()
		}
	case '"':
		c.skipText()
	case 't':
		c.word("true")
	case 'f':
		c.word("false")
	case 'n':
		c.word("null")
	default:
		c.number()
	}
}

// number passes over a number and gives its digits.
func (c *cursor) number() []byte {
	c.peek()
	start := c.i
	if c.at('-') {
		c.i++
	}
	switch {
	case c.at('0'):
		c.i++
	case !c.digits():
		c.fail()
		return nil
	}
	if c.at('.') {
		if c.i++; !c.digits() {
			c.fail()
			return nil
		}
	}
	if c.at('e') || c.at('E') {
		if c.i++; c.at('+') || c.at('-') {
			c.i++
		}
		if !c.digits() {
			c.fail()
			return nil
		}
	}
	return c.b[start:c.i]
}

func (c *cursor) at(b byte) bool { return c.i < len(c.b) && c.b[c.i] == b }

func (c *cursor) digits() bool {
	start := c.i
	for c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i > start
}

// count reads a whole number of at least 0, also one written as 12.0; a null
// is 0.
func (c *cursor) count() int {
	if c.null() {
		return 0
	}
	text := c.number()
	if c.bad {
		return 0
	}
	n := 0
	for _, b := range text {
		if b < '0' || b > '9' || n > 1<<50 {
			f, err := strconv.ParseFloat(string(text), 64)
			if err != nil || !(f >= 0 && f <= 1<<50) {
				c.fail()
				return 0
			}
			return int(f)
		}
		n = n*10 + int(b-'0')
	}
	return n
}

// skipText passes over a string.
func (c *cursor) skipText() {
	c.i++
	for c.i < len(c.b) {
		switch b := c.b[c.i]; {
		case b == '"':
			c.i++
			return
		case b == '\\':
			if c.escape(); c.bad {
				return
			}
		case b < ' ':
			c.fail()
			return
		default:
			c.i++
		}
	}
	c.fail()
}

// text appends a string's value to dst.
func (c *cursor) text(dst []byte) []byte {
	if c.peek() != '"' {
		c.fail()
		return dst
	}
	c.i++
	for c.i < len(c.b) {
		start := c.i
		for c.i < len(c.b) && c.b[c.i] != '"' && c.b[c.i] != '\\' && c.b[c.i] >= ' ' {
			c.i++
		}
		dst = append(dst, c.b[start:c.i]...)
		switch {
		case c.at('"'):
			c.i++
			return dst
		case c.at('\\'):
			r := c.escape()
			if c.bad {
				return dst
			}
			dst = utf8.AppendRune(dst, r)
		default:
			c.fail()
			return dst
		}
	}
	c.fail()
	return dst
}

// escape reads a backslash and what it stands for; half of a surrogate pair
// alone is U+FFFD.
func (c *cursor) escape() rune {
	if c.i+1 >= len(c.b) {
		c.fail()
		return 0
	}
	b := c.b[c.i+1]
	c.i += 2
	switch b {
	case '"', '\\', '/':
		return rune(b)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'u':
		r := c.hex()
		if !utf16.IsSurrogate(r) {
			return r
		}
		if after := *c; c.at('\\') && c.i+1 < len(c.b) && c.b[c.i+1] == 'u' {
			c.i += 2
			if pair := utf16.DecodeRune(r, c.hex()); c.bad || pair != utf8.RuneError {
				return pair
			}
			*c = after // the second stands for itself
		}
		return utf8.RuneError
	}
	c.fail()
	return 0
}

func (c *cursor) hex() rune {
	if len(c.b)-c.i < 4 {
		c.fail()
		return 0
	}
	var r rune
	for _, b := range c.b[c.i : c.i+4] {
		switch {
		case '0' <= b && b <= '9':
			r = r<<4 | rune(b-'0')
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			c.fail()
			return 0
		}
	}
	c.i += 4
	return r
}
