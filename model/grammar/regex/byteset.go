package regex

import "math/bits"

// ByteSet is a set of bytes, a value. The zero value is the empty set.
type ByteSet [4]uint64

// ByteRange returns the bytes of [lo, hi].
func ByteRange(lo, hi byte) ByteSet {
	var s ByteSet
	for b := int(lo); b <= int(hi); b++ {
		s[b>>6] |= 1 << (b & 63)
	}
	return s
}

// SetOf returns the bytes that occur in text.
func SetOf(text string) ByteSet {
	var s ByteSet
	for i := range len(text) {
		s[text[i]>>6] |= 1 << (text[i] & 63)
	}
	return s
}

// AllBytes is the set of all 256 bytes.
var AllBytes = ByteSet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

// Has reports whether b is in s.
func (s ByteSet) Has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

// With returns s and b.
func (s ByteSet) With(b byte) ByteSet { s[b>>6] |= 1 << (b & 63); return s }

// Or returns the union.
func (s ByteSet) Or(o ByteSet) ByteSet {
	return ByteSet{s[0] | o[0], s[1] | o[1], s[2] | o[2], s[3] | o[3]}
}

// And returns the intersection.
func (s ByteSet) And(o ByteSet) ByteSet {
	return ByteSet{s[0] & o[0], s[1] & o[1], s[2] & o[2], s[3] & o[3]}
}

// Not returns the complement.
func (s ByteSet) Not() ByteSet { return ByteSet{^s[0], ^s[1], ^s[2], ^s[3]} }

// Len returns the number of bytes in s.
func (s ByteSet) Len() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2]) + bits.OnesCount64(s[3])
}

// First returns the smallest byte of s, which must not be empty.
func (s ByteSet) First() byte {
	for i, w := range s {
		if w != 0 {
			return byte(i<<6 + bits.TrailingZeros64(w))
		}
	}
	panic("regex: First of an empty ByteSet")
}
