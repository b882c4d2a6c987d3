package outputs

import "github.com/troupe-engine/troupe/model/grammar/regex"

// text is free content, and calls behind it.
func (c *compiler) text(calls []branch) part {
	// A piece of text before each mark that is left out of the content, then the last piece.
	var pieces []part
	for _, text := range c.Format.Drop {
		if p := c.marked(text); p.isSymbol { // others are text
			pieces = append(pieces, c.seq(c.term(c.free), p))
		}
	}
	r := c.Format.Reasoning
	if r.Reopens && r.Open != "" && r.Close != "" && !c.NoThoughts {
		thoughts := c.seq(c.marked(r.Open), c.term(c.before(c.anyText, r.Close, r.Close)), c.marked(r.Close))
		pieces = append(pieces, c.seq(c.term(c.before(c.free, r.Open, r.Open)), thoughts))
	}
	before := c.free
	if calls := c.Format.Calls; calls != nil && calls.AtStart {
		// From there on the parser looks for a call, so it may pass over a mark.
		bracket := "{"
		if calls.List {
			bracket = "["
		}
		blank := c.set.Repeat(c.set.OneOf(regex.SetOf(" \t\r\n")), 0, regex.Unbounded)
		before = c.set.And(before, c.set.Not(c.set.Concat(blank, c.set.Literal(bracket), regex.Anything)))
	}
	marks := append(c.opens[:len(c.opens):len(c.opens)], r.Open)
	list := []part{c.term(c.free)}
	for _, b := range calls {
		if b.word == "" {
			list = append(list, c.seq(c.term(c.space), b.then))
			continue
		}
		list = append(list, c.seq(c.term(c.border(before, b.word, marks...)), c.marked(b.word), b.then))
	}
	last := c.choice(list...)
	if len(pieces) == 0 {
		return last
	}
	return c.seq(c.repeat(c.choice(pieces...)), last)
}

// contentOf is the content that has a grammar of its own, with the marks around it that are left out.
func (c *compiler) contentOf(afterThoughts bool) part {
	lead, around := nothing, nothing
	if afterThoughts {
		lead = c.lines()
	}
	if call := c.marksContent(); call != nil {
		lead = c.optional(c.seq(c.marked(call.Open), c.literal(call.Content)))
	}
	var marks []part
	for _, text := range c.Format.Drop {
		marks = append(marks, c.marked(text))
	}
	if len(marks) > 0 {
		around = c.sym(c.b.Repeat(c.symbol(c.choice(marks...)), 0, 2))
	}
	return c.seq(lead, around, c.sym(c.content), around)
}

// lines is newlines that the parser leaves out beside thoughts.
func (c *compiler) lines() part { return c.term(c.set.Repeat(c.set.OneOf(regex.SetOf("\r\n")), 0, 4)) }

// freeText is a piece of free content: no call begins in it, and no thoughts where the parser looks for them.
func (c *compiler) freeText() regex.Term {
	s, r := c.set, c.Format.Reasoning
	words := c.opens
	if r.Reopens && r.Open != "" {
		words = append(words[:len(words):len(words)], r.Open)
	}
	if call := c.marksContent(); call != nil && len(words) == 0 {
		words = []string{call.Open + call.Content}
	}
	t := c.without(c.anyText, words...)
	blank := s.OneOf(regex.SetOf(" \t\r\n"))
	begin := s.Repeat(s.Or(blank, c.anyOf(c.Format.Drop)), 0, regex.Unbounded)
	if r.Close != "" && r.Open != "" {
		t = s.And(t, s.Not(s.Concat(begin, s.Literal(r.Open), regex.Anything)))
	}
	for _, call := range c.beginsCall() {
		t = s.And(t, s.Not(s.Concat(s.Repeat(blank, 0, regex.Unbounded), call)))
	}
	return t
}

// beginsCall is the texts that must be calls where a call needs no mark.
func (c *compiler) beginsCall() (list []regex.Term) {
	s, calls := c.set, c.Format.Calls
	if calls == nil || !calls.AtStart || len(c.Tools) == 0 {
		return nil
	}
	blank := s.Repeat(s.OneOf(regex.SetOf(" \t\r\n")), 0, regex.Unbounded)
	open := s.Literal("{")
	names := make([]regex.Term, len(c.Tools))
	for i, t := range c.Tools {
		names[i] = s.Literal(t.Name)
	}
	object := calls.Call.Object
	switch {
	case calls.List && object != nil:
		return []regex.Term{s.Concat(s.Literal("["), blank, open, regex.Anything)}
	case calls.List:
		return []regex.Term{s.Concat(s.Literal("["), blank, s.Or(names...), s.Literal("("), regex.Anything)}
	case object == nil:
		return nil
	}
	var keys []regex.Term
	for _, key := range append([]string{"function"}, object.Name...) {
		keys = append(keys, s.Literal(quote(key)))
	}
	for i, t := range c.Tools {
		names[i] = s.Literal(quote(t.Name))
	}
	colon := s.Concat(blank, s.Literal(":"), blank)
	if object.NameIsKey {
		return []regex.Term{s.Concat(open, blank, s.Or(names...), colon, regex.Anything)}
	}
	return []regex.Term{
		s.Concat(open, blank, s.Or(keys[1:]...), colon, regex.Anything),
		// The parser takes members in any order.
		s.Concat(open, regex.Anything, s.Or(keys...), colon, s.Or(names...), regex.Anything),
	}
}
