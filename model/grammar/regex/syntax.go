package regex

import "fmt"

// Options say how a pattern is read.
type Options struct {
	// Search: a string matches when it contains a match, as for JSON Schema's
	// `pattern`. Otherwise the whole string is the match.
	Search bool
	// IgnoreCase, DotNewline: as if the pattern began with (?i), (?s).
	IgnoreCase, DotNewline bool
	// Extended: white space and # comments in the pattern are left out, (?x).
	Extended bool
	// ECMA: the dot excludes the four line terminators of ECMA 262, not \n alone.
	ECMA bool
	// MaxSize bounds the pattern with its counted groups written out, in
	// parts that may each match one character. Zero: 100,000. A group counts
	// when its own length varies, because only then do repetitions overlap.
	MaxSize int
}

// SyntaxError is a pattern that cannot be taken.
type SyntaxError struct {
	At     int // bytes from the start of the pattern
	Reason string
	Remedy string // what to write in its place; may be empty
}

func (e *SyntaxError) Error() string {
	if e.Remedy == "" {
		return fmt.Sprintf("regular expression, byte %d: %s", e.At, e.Reason)
	}
	return fmt.Sprintf("regular expression, byte %d: %s; %s", e.At, e.Reason, e.Remedy)
}

// maxDepth bounds how deep groups may nest.
const maxDepth = 250

// maxPattern bounds the length of a pattern, in bytes.
const maxPattern = 1 << 20

// Parse returns the language of a pattern, in the syntax that ECMA 262 (with
// flag u), Python and Rust share: classes with \d \w \s (ASCII, except that \s
// has Unicode's white space), \xHH, \uHHHH, \u{…}, \p{…}, groups, quantifiers
// (lazy ones mean the same), the anchors ^ and $, flags (?i) (?s) (?x), look-ahead.
// Back references, word boundaries and look-behind are refused. The error is a
// [*SyntaxError], or [ErrLimit] when the set is full.
func (s *Set) Parse(pattern string, o Options) (Term, error) {
	if o.MaxSize == 0 {
		o.MaxSize = 100_000
	}
	if len(pattern) > maxPattern {
		return Nothing, &SyntaxError{maxPattern, "the pattern is longer than 1 MiB", ""}
	}
	p := &parser{set: s, text: pattern, maxSize: o.MaxSize, ecma: o.ECMA,
		flags: flags{fold: o.IgnoreCase, dotAll: o.DotNewline, extended: o.Extended}}
	e, err := p.alternatives(0)
	if err == nil && p.pos < len(p.text) {
		err = p.fail(p.pos, "unmatched )", `write \) for the character`)
	}
	if err != nil {
		return Nothing, err
	}
	t := p.whole(e, o.Search)
	if s.err != nil {
		return Nothing, s.err
	}
	return t, nil
}

type flags struct{ fold, dotAll, extended bool }

type parser struct {
	set     *Set
	text    string
	pos     int
	maxSize int
	ecma    bool
	flags   flags
	names   map[string]bool

	classes    map[string]Term // by their ranges and flags
	properties map[string][]RuneRange
}

func (p *parser) fail(at int, reason, remedy string) error {
	return &SyntaxError{at, reason, remedy}
}

func (p *parser) more() bool { return p.pos < len(p.text) }

func (p *parser) accept(text string) bool {
	if len(p.text)-p.pos >= len(text) && p.text[p.pos:p.pos+len(text)] == text {
		p.pos += len(text)
		return true
	}
	return false
}
