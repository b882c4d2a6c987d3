package tokenizer

import "unicode/utf8"

// The byte-level alphabet: each byte has one printable character, its own
// where it has one in Latin-1, else the next one from U+0100 on.
var (
	byteToRune [256]rune
	runeToByte = map[rune]byte{}
)

func init() {
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		printable := (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE
		if !printable {
			r = next
			next++
		}
		byteToRune[b] = r
		runeToByte[r] = byte(b)
	}
}

// appendByteChars appends s with each byte replaced by its character.
func appendByteChars(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = utf8.AppendRune(dst, byteToRune[s[i]])
	}
	return dst
}

// appendCharBytes appends the bytes that token stands for. A token with a
// character outside the alphabet (an added token) stands for its own text.
func appendCharBytes(dst []byte, token string) []byte {
	start := len(dst)
	for _, r := range token {
		b, ok := byteChar(r)
		if !ok {
			return append(dst[:start], token...)
		}
		dst = append(dst, b)
	}
	return dst
}

func byteChar(r rune) (byte, bool) {
	if r >= '!' && r <= '~' {
		return byte(r), true
	}
	b, ok := runeToByte[r]
	return b, ok
}
