package regex

import (
	"testing"
	"unicode/utf8"
)

// Runes are the strings that utf8 takes for one character, and no others: no longer form, no
// surrogate, nothing that is cut.
func TestRunesAreUTF8(t *testing.T) {
	s := NewSet(Limits{})
	all := s.Runes(AllRunes...)
	check := func(text []byte) {
		t.Helper()
		_, size := utf8.DecodeRune(text)
		want := utf8.Valid(text) && size == len(text)
		if got := s.Matches(all, string(text)); got != want {
			t.Errorf("% x: %v, want %v", text, got, want)
		}
	}
	// The bytes at the borders of UTF-8's forms.
	heads := []byte{0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff}
	next := []byte{0x00, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff}
	for _, a := range heads {
		check([]byte{a})
		for _, b := range next {
			check([]byte{a, b})
			for _, c := range next {
				check([]byte{a, b, c})
				for _, d := range next {
					check([]byte{a, b, c, d})
				}
			}
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}
