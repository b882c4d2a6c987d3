package outputs

import (
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// output is the output of a format without messages.
func (c *compiler) output() (part, error) {
	r := c.Format.Reasoning
	calls, err := c.calls()
	if err != nil {
		return nothing, err
	}
	c.free = c.freeText()
	body := c.body(calls, false)
	if r.Close == "" || c.NoThoughts {
		return body, nil
	}
	inside := c.thoughts(calls)
	if rest, opened := c.opened(); opened {
		return c.seq(rest, inside), nil
	}
	if r.Open == "" {
		return body, nil
	}
	lead := c.term(c.space)
	if c.Content != nil {
		lead = c.lines() // other white space before thoughts is content for the parser
	}
	return c.choice(body, c.seq(lead, c.marked(r.Open), inside)), nil
}

// opened reports whether the output begins in thoughts, perhaps with the rest of the mark.
func (c *compiler) opened() (rest part, opened bool) {
	open := c.Format.Reasoning.Open
	bare := strings.TrimRight(open, " \t\r\n")
	switch {
	case c.Opened == "":
		return nothing, c.Format.Reasoning.Implied
	case open == "" || !strings.Contains(c.Opened, bare):
		return nothing, false
	case strings.Contains(c.Opened, open):
		return nothing, true
	}
	return c.literal(open[len(bare):]), true
}

// thoughts is thoughts that have begun, and what follows them.
func (c *compiler) thoughts(calls []branch) part {
	r := c.Format.Reasoning
	words := []string{r.Close}
	if r.EndedByCall {
		words = append(words, c.opens...)
	}
	list := []part{c.seq(c.term(c.before(c.anyText, r.Close, words...)), c.marked(r.Close), c.body(calls, true))}
	if r.EndedByCall {
		for _, b := range calls {
			if b.word != "" {
				list = append(list, c.seq(c.term(c.before(c.anyText, b.word, words...)), c.marked(b.word), b.then))
			}
		}
	}
	return c.choice(list...)
}

// branch is calls: the mark that begins them, and what follows it. Without a mark they begin the output.
type branch struct {
	word string
	then part
}

// body is content, or calls, or content and then calls.
func (c *compiler) body(calls []branch, afterThoughts bool) part {
	var list []part
	if c.Required {
		for _, b := range calls {
			list = append(list, c.seq(c.term(c.space), c.marked(b.word), b.then))
		}
		return c.choice(list...)
	}
	if c.Content != nil {
		for _, b := range calls {
			list = append(list, c.seq(c.term(c.space), c.marked(b.word), b.then))
		}
		return c.choice(append(list, c.contentOf(afterThoughts))...)
	}
	// A piece of text before each mark that is left out of the content, then the last piece.
	var lead []part
	for _, text := range c.Format.Drop {
		if p := c.marked(text); p.isSymbol { // others are text
			lead = append(lead, c.seq(c.term(c.free), p))
		}
	}
	if r := c.Format.Reasoning; r.Reopens && r.Open != "" && r.Close != "" && !c.NoThoughts {
		lead = append(lead, c.seq(c.term(c.before(c.free, r.Open, r.Open)), c.marked(r.Open), c.term(c.before(c.anyText, r.Close, r.Close)), c.marked(r.Close)))
	}
	if len(lead) > 0 {
		lead = []part{c.repeat(c.choice(lead...))}
	}
	list = append(list, c.term(c.free))
	for _, b := range calls {
		if b.word == "" {
			list = append(list, c.seq(c.term(c.space), b.then))
			continue
		}
		list = append(list, c.seq(c.term(c.border(c.free, b.word, append(c.opens[:len(c.opens):len(c.opens)], c.Format.Reasoning.Open)...)), c.marked(b.word), b.then))
	}
	all := c.seq(append(lead, c.choice(list...))...)
	if begin, must := c.addressed(); must {
		// What is addressed to nobody, or to a tool: free text comes only behind the mark of content.
		list = []part{c.seq(begin, all)}
		for _, b := range calls {
			if b.word == "" {
				list = append(list, b.then)
			}
		}
		return c.choice(list...)
	} else if begin != nothing {
		return c.choice(all, c.seq(begin, all))
	}
	return all
}

// addressed is what may begin the content of a format whose calls and content both have a mark, and whether
// it must, because the prompt has ended with the mark.
func (c *compiler) addressed() (begin part, must bool) {
	calls := c.Format.Calls
	if calls == nil || calls.Call.Content == "" {
		return nothing, false
	}
	if c.inCall() {
		return c.literal(calls.Call.Content), true
	}
	return c.seq(c.marked(calls.Call.Open), c.literal(calls.Call.Content)), false
}

// inCall reports whether the prompt has ended with the mark of a call.
func (c *compiler) inCall() bool {
	calls := c.Format.Calls
	return calls != nil && calls.Call.Content != "" && calls.Call.Open != "" && strings.Contains(c.Opened, calls.Call.Open)
}

// contentOf is the content that has a grammar of its own, with the marks around it that are left out.
func (c *compiler) contentOf(afterThoughts bool) part {
	lead, around := nothing, nothing
	if afterThoughts {
		lead = c.lines()
	}
	if begin, must := c.addressed(); must {
		lead = begin
	} else if begin != nothing {
		lead = c.optional(begin)
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
	if calls := c.Format.Calls; len(words) == 0 && calls != nil && calls.Call.Content != "" && calls.Call.Open != "" {
		words = []string{calls.Call.Open + calls.Call.Content}
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
