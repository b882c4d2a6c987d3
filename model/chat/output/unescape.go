package output

import (
	"unicode/utf16"
	"unicode/utf8"
)

// unescaper reads a JSON string after its opening quote and gives the bytes that it stands for.
// With python it reads a string of Python, between any quotes.
type unescaper struct {
	out     func(byte) bool // false ends the reading as bad
	python  bool
	quote   byte // 0 means "
	triple  bool
	ends    int // quotes seen of a triple end
	escaped bool
	kind    byte // letter of a \u, \U, \x under way
	hex     int  // its digits to come
	code    rune
	high    rune // first half of a pair of surrogates
}

func (u *unescaper) step(c byte) verdict {
	switch {
	case u.hex > 0:
		return u.digit(c)
	case u.escaped:
		u.escaped = false
		return u.escape(c)
	case c == '\\':
		u.escaped = true
		return u.pending()
	}
	if u.quote == 0 {
		u.quote = '"'
	}
	if c == u.quote {
		if u.ends++; !u.triple || u.ends == 3 {
			if !u.lone() {
				return bad
			}
			return done
		}
		return more
	}
	if v := u.pending(); v == bad {
		return bad
	}
	return u.put(c)
}

// pending gives quotes that did not end a triple string.
func (u *unescaper) pending() verdict {
	for ; u.ends > 0; u.ends-- {
		if !u.lone() || !u.out(u.quote) {
			return bad
		}
	}
	return more
}

// lone gives a half of a pair that found no other half.
func (u *unescaper) lone() bool {
	if u.high == 0 {
		return true
	}
	u.high = 0
	return u.rune(utf8.RuneError)
}

func (u *unescaper) put(c byte) verdict {
	if !u.lone() || !u.out(c) {
		return bad
	}
	return more
}

func (u *unescaper) rune(r rune) bool {
	for _, c := range utf8.AppendRune(nil, r) {
		if !u.out(c) {
			return false
		}
	}
	return true
}

func (u *unescaper) escape(c byte) verdict {
	switch c {
	case 'n':
		return u.put('\n')
	case 't':
		return u.put('\t')
	case 'r':
		return u.put('\r')
	case 'b':
		return u.put('\b')
	case 'f':
		return u.put('\f')
	case '"', '\\':
		return u.put(c)
	case 'u':
		u.kind, u.hex, u.code = c, 4, 0
		return more
	}
	if !u.python {
		if c == '/' {
			return u.put(c)
		}
		return bad
	}
	switch c {
	case 'x':
		u.kind, u.hex, u.code = c, 2, 0
		return more
	case 'U':
		u.kind, u.hex, u.code = c, 8, 0
		return more
	case '\'':
		return u.put(c)
	case '0':
		return u.put(0)
	case 'a':
		return u.put('\a')
	case 'v':
		return u.put('\v')
	case '\n':
		return more // the line goes on
	}
	// Python keeps the backslash of an escape that it does not know.
	if u.put('\\') == bad {
		return bad
	}
	return u.put(c)
}

func (u *unescaper) digit(c byte) verdict {
	d := hexDigit(c)
	if d < 0 {
		return bad
	}
	u.code = u.code<<4 | rune(d)
	if u.hex--; u.hex > 0 {
		return more
	}
	r := u.code
	switch {
	case u.high != 0 && utf16.IsSurrogate(r) && utf16.DecodeRune(u.high, r) != utf8.RuneError:
		r, u.high = utf16.DecodeRune(u.high, r), 0
	case !u.lone():
		return bad
	case r >= 0xd800 && r < 0xdc00:
		u.high = r
		return more
	}
	if !u.rune(r) {
		return bad
	}
	return more
}
