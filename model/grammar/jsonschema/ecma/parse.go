package ecma

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// Parse reads a pattern. An error is an [*Error].
func Parse(pattern string) (node *Node, err error) {
	if len(pattern) > MaxLength {
		return nil, &Error{0, fmt.Sprintf("the pattern has %d bytes; at most %d are read", len(pattern), MaxLength)}
	}
	if !utf8.ValidString(pattern) {
		return nil, &Error{0, "the pattern is not UTF-8"}
	}
	p := &parser{text: pattern}
	defer func() {
		if r := recover(); r != nil {
			e, ours := r.(*Error)
			if !ours {
				panic(r)
			}
			node, err = nil, e
		}
	}()
	n := p.alternatives()
	if p.at < len(p.text) {
		p.fail("there is no group that this ) could close")
	}
	return n, nil
}

type parser struct {
	text  string
	at    int
	depth int
	spans int // ranges of characters so far
}

// note counts the ranges of a class that was read.
func (p *parser) note(ranges []regex.RuneRange) []regex.RuneRange {
	if p.spans += len(ranges); p.spans > MaxRanges {
		p.fail("the classes of characters have more than %d ranges", MaxRanges)
	}
	return ranges
}

func (p *parser) fail(format string, args ...any) {
	panic(&Error{p.at, fmt.Sprintf(format, args...)})
}

func (p *parser) more() bool { return p.at < len(p.text) }

// peek returns the next byte, 0 at the end. No rule takes a NUL for an operator.
func (p *parser) peek() byte {
	if !p.more() {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) accept(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

func (p *parser) rune() rune {
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	return r
}

func (p *parser) alternatives() *Node {
	if p.depth++; p.depth > MaxDepth {
		p.fail("groups are nested deeper than %d levels", MaxDepth)
	}
	defer func() { p.depth-- }()
	subs := []*Node{p.sequence()}
	for p.accept("|") {
		subs = append(subs, p.sequence())
	}
	if len(subs) == 1 {
		return subs[0]
	}
	return &Node{Op: Alternate, Subs: subs}
}

func (p *parser) sequence() *Node {
	var subs []*Node
	for p.more() && p.peek() != '|' && p.peek() != ')' {
		subs = append(subs, p.term())
	}
	switch len(subs) {
	case 0:
		return &Node{Op: Empty}
	case 1:
		return subs[0]
	}
	return &Node{Op: Concat, Subs: subs}
}

func (p *parser) term() *Node {
	n := p.atom()
	least, most, ok := p.quantifier()
	if !ok {
		return n
	}
	if n.Op == Begin || n.Op == End || n.Op == Boundary || n.Op == NotBoundary {
		p.fail("an assertion cannot be repeated")
	}
	p.accept("?") // lazy: the language is the same
	if _, _, again := p.quantifier(); again {
		p.fail("a quantifier follows a quantifier")
	}
	return &Node{Op: Repeat, Subs: []*Node{n}, Min: least, Max: most}
}

func (p *parser) quantifier() (least, most int, ok bool) {
	switch {
	case p.accept("*"):
		return 0, -1, true
	case p.accept("+"):
		return 1, -1, true
	case p.accept("?"):
		return 0, 1, true
	case p.peek() != '{':
		return 0, 0, false
	}
	start := p.at
	p.at++
	least, okLeast := p.count()
	most = least
	if p.accept(",") {
		most = -1
		if n, ok := p.count(); ok {
			most = n
		}
	}
	if !okLeast || !p.accept("}") {
		p.at = start // a brace that counts nothing stands for itself
		return 0, 0, false
	}
	if most >= 0 && most < least {
		p.fail("the counts of a repetition are out of order")
	}
	return least, most, true
}

func (p *parser) count() (n int, ok bool) {
	for ; p.peek() >= '0' && p.peek() <= '9'; p.at++ {
		n, ok = n*10+int(p.peek()-'0'), true
		if n > MaxCount {
			p.fail("a count is above %d", MaxCount)
		}
	}
	return n, ok
}

func (p *parser) atom() *Node {
	switch {
	case p.accept("("):
		return p.group()
	case p.accept("["):
		return &Node{Op: Class, Ranges: p.note(p.class())}
	case p.accept("."):
		return &Node{Op: Class, Ranges: Dot}
	case p.accept("^"):
		return &Node{Op: Begin}
	case p.accept("$"):
		return &Node{Op: End}
	case p.accept(`\b`):
		return &Node{Op: Boundary}
	case p.accept(`\B`):
		return &Node{Op: NotBoundary}
	case p.accept(`\`):
		return &Node{Op: Class, Ranges: p.note(p.escape(false))}
	}
	if _, _, ok := p.quantifier(); ok {
		p.fail("there is nothing that this quantifier could repeat")
	}
	return &Node{Op: Class, Ranges: single(p.rune())}
}

func single(r rune) []regex.RuneRange { return []regex.RuneRange{{Lo: r, Hi: r}} }

func (p *parser) group() *Node {
	op := Empty
	switch {
	case p.accept("?="):
		op = Look
	case p.accept("?!"):
		op = NotLook
	case p.accept("?<="), p.accept("?<!"):
		p.fail("look-behind is not supported")
	case p.accept("?:"):
	case p.accept("?<"), p.accept("?P<"):
		end := strings.IndexByte(p.text[p.at:], '>')
		if end < 1 {
			p.fail("the name of a group is not closed")
		}
		p.at += end + 1
	case p.peek() == '?':
		p.fail("flags of groups are not supported")
	}
	n := p.alternatives()
	if !p.accept(")") {
		p.fail("a group is not closed")
	}
	if op != Empty {
		return &Node{Op: op, Subs: []*Node{n}}
	}
	if n.Op == Repeat || n.Op == Begin || n.Op == End {
		return &Node{Op: Concat, Subs: []*Node{n}} // so that a quantifier may follow
	}
	return n
}
