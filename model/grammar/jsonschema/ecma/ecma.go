// Package ecma reads regular expressions as JSON Schema writes them, ECMA 262
// with code points as characters, into trees.
//
// It reads what can be a regular language: look-ahead and word boundaries are
// in the tree; look-behind, references back and flags are refused, as are escapes whose
// meaning differs between engines.
//
// # Bounds
//
// A pattern of more than [MaxLength] bytes, nested deeper than [MaxDepth],
// with a count above [MaxCount] or more than [MaxRanges] ranges is refused. Time and memory grow with the
// length of the pattern.
package ecma

import "github.com/troupe-engine/troupe/model/grammar/regex"

// Bounds of a pattern.
const (
	MaxLength = 1 << 16
	MaxDepth  = 200
	MaxCount  = 1 << 20
	MaxRanges = 50_000 // of characters, in all classes together
)

// Op is what a [Node] stands for.
type Op uint8

const (
	Empty       Op = iota // the empty text
	Class                 // one character of Ranges
	Concat                // Subs, one after the other
	Alternate             // one of Subs
	Repeat                // Subs[0], Min to Max times; Max < 0: no maximum
	Begin                 // ^
	End                   // $
	Look                  // what follows begins with Subs[0]
	NotLook               // what follows does not begin with Subs[0]
	Boundary              // \b
	NotBoundary           // \B
)

// Node is a part of a pattern.
type Node struct {
	Op       Op
	Ranges   []regex.RuneRange
	Subs     []*Node
	Min, Max int
}

// Error is why a pattern is refused.
type Error struct {
	Offset int // in bytes
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }

// Digit, Word and Space are the classes \d, \w and \s. Dot is what a full stop
// stands for: anything but a line terminator.
var (
	Digit = []regex.RuneRange{{Lo: '0', Hi: '9'}}
	Word  = []regex.RuneRange{{Lo: '0', Hi: '9'}, {Lo: 'A', Hi: 'Z'}, {Lo: '_', Hi: '_'}, {Lo: 'a', Hi: 'z'}}
	Space = []regex.RuneRange{{Lo: 9, Hi: 13}, {Lo: ' ', Hi: ' '}, {Lo: 0xa0, Hi: 0xa0}, {Lo: 0x1680, Hi: 0x1680}, {Lo: 0x2000, Hi: 0x200a},
		{Lo: 0x2028, Hi: 0x2029}, {Lo: 0x202f, Hi: 0x202f}, {Lo: 0x205f, Hi: 0x205f}, {Lo: 0x3000, Hi: 0x3000}, {Lo: 0xfeff, Hi: 0xfeff}}
	Dot = regex.NegateRunes([]regex.RuneRange{{Lo: '\n', Hi: '\n'}, {Lo: '\r', Hi: '\r'}, {Lo: 0x2028, Hi: 0x2029}})
)

// Asserts reports whether n or a part of it looks at what stands around it.
func (n *Node) Asserts() bool { return n.Op >= Begin || n.anySub((*Node).Asserts) }

// LooksBack reports whether n or a part of it looks at what stands before it.
func (n *Node) LooksBack() bool {
	return n.Op == Begin || n.Op == Boundary || n.Op == NotBoundary || n.anySub((*Node).LooksBack)
}

func (n *Node) anySub(is func(*Node) bool) bool {
	for _, s := range n.Subs {
		if is(s) {
			return true
		}
	}
	return false
}
