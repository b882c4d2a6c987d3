package jsonschema

import (
	"fmt"

	"github.com/troupe-engine/troupe/model/grammar/jsonschema/ecma"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// maxSplits bounds how often a pattern is split at its assertions.
const maxSplits = 5_000

// pattern returns the texts in which pattern, of ECMA 262, finds a match.
func (s *speller) pattern(pattern string) (regex.Term, error) {
	tree, err := ecma.Parse(pattern)
	if err != nil {
		return regex.Nothing, err
	}
	any := &ecma.Node{Op: ecma.Repeat, Subs: []*ecma.Node{{Op: ecma.Class, Ranges: regex.AllRunes}}, Max: -1}
	m := matcher{speller: s, anything: any}
	t := m.rest([]*ecma.Node{any, tree, any}, atStart)
	return t, m.err
}

// before is what stands left of a place in the text.
type before uint8

const (
	atStart before = iota
	afterWord
	afterOther
)

// matcher turns the tree of a pattern into a term. Assertions speak about the
// text around them, so a sequence is turned as a whole, from its beginning to
// the end of the text: look-ahead is then an intersection, and what looks back
// splits the text before it by how it ends.
type matcher struct {
	*speller
	anything *ecma.Node
	splits   int
	err      error
}

// rest returns the texts that nodes match up to the end of the text.
func (m *matcher) rest(nodes []*ecma.Node, left before) regex.Term {
	if m.splits++; m.splits > maxSplits && m.err == nil {
		m.err = fmt.Errorf("the pattern has too many look-arounds in alternatives")
	}
	if m.err != nil {
		return regex.Nothing
	}
	if len(nodes) == 0 {
		return regex.Empty
	}
	n, after := nodes[0], nodes[1:]
	if !n.Asserts() {
		return m.consume(n, after, left)
	}
	with := func(first ...*ecma.Node) []*ecma.Node { return append(first[:len(first):len(first)], after...) }
	switch n.Op {
	case ecma.Concat:
		return m.rest(with(n.Subs...), left)
	case ecma.Alternate:
		t := regex.Nothing
		for _, sub := range n.Subs {
			t = m.set.Or(t, m.rest(with(sub), left))
		}
		return t
	case ecma.Repeat:
		return m.unroll(n, after, left)
	case ecma.Begin:
		if left != atStart {
			return regex.Nothing
		}
		return m.rest(after, left)
	case ecma.End:
		return m.set.And(m.rest(after, left), regex.Empty)
	case ecma.Look:
		return m.set.And(m.rest([]*ecma.Node{n.Subs[0], m.anything}, left), m.rest(after, left))
	case ecma.NotLook:
		return m.set.And(m.rest(after, left), m.not(m.rest([]*ecma.Node{n.Subs[0], m.anything}, left)))
	}
	// A boundary: one side is a word character, the other one is not.
	startsWithWord := m.set.Concat(m.class(ecma.Word), m.universe)
	if (left == afterWord) == (n.Op == ecma.Boundary) {
		return m.set.And(m.rest(after, left), m.not(startsWithWord))
	}
	return m.set.And(m.rest(after, left), startsWithWord)
}

// consume is rest where the first node looks at nothing around it.
func (m *matcher) consume(n *ecma.Node, after []*ecma.Node, left before) regex.Term {
	t := m.term(n)
	back := false
	for _, a := range after {
		back = back || a.LooksBack()
	}
	if !back {
		return m.set.Concat(t, m.rest(after, afterOther))
	}
	out := regex.Nothing
	if m.set.Nullable(t) {
		out = m.rest(after, left)
	}
	word := m.set.Concat(m.universe, m.class(ecma.Word))
	other := m.set.Concat(m.universe, m.class(regex.NegateRunes(ecma.Word)))
	for _, end := range []struct {
		texts regex.Term
		left  before
	}{{word, afterWord}, {other, afterOther}} {
		if tail := m.rest(after, end.left); tail != regex.Nothing {
			out = m.set.Or(out, m.set.Concat(m.set.And(t, end.texts), tail))
		}
	}
	return out
}

// unroll writes out a repetition of something that asserts.
func (m *matcher) unroll(n *ecma.Node, after []*ecma.Node, left before) regex.Term {
	const most = 8
	if n.Max < 0 || n.Max > most {
		if m.err == nil {
			m.err = fmt.Errorf("an assertion inside a repetition is not supported")
		}
		return regex.Nothing
	}
	out := regex.Nothing
	for times := n.Min; times <= n.Max; times++ {
		var nodes []*ecma.Node
		for range times {
			nodes = append(nodes, n.Subs[0])
		}
		out = m.set.Or(out, m.rest(append(nodes, after...), left))
	}
	return out
}

// term turns a tree without assertions.
func (m *matcher) term(n *ecma.Node) regex.Term {
	switch n.Op {
	case ecma.Class:
		return m.class(n.Ranges)
	case ecma.Repeat:
		return m.set.Repeat(m.term(n.Subs[0]), n.Min, n.Max)
	case ecma.Concat, ecma.Alternate:
		parts := make([]regex.Term, len(n.Subs))
		for i, sub := range n.Subs {
			parts[i] = m.term(sub)
		}
		if n.Op == ecma.Concat {
			return m.set.Concat(parts...)
		}
		return m.set.Or(parts...)
	}
	return regex.Empty
}
