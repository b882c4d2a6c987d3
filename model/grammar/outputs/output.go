package outputs

import (
	"strings"
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
