package outputs

import (
	"strings"

	"github.com/troupe-engine/troupe/model/chat/output"
)

// output is the output of a format without messages.
func (c *compiler) output() (part, error) {
	r := c.Format.Reasoning
	calls, err := c.calls()
	if err != nil {
		return nothing, err
	}
	c.free = c.freeText()
	if c.inCall() {
		return c.behindMark(calls), nil
	}
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
	if !c.Required && c.Content == nil {
		text := c.text(calls)
		if call := c.marksContent(); call != nil {
			text = c.choice(text, c.seq(c.marked(call.Open), c.literal(call.Content), text))
		}
		return text
	}
	var list []part
	for _, b := range calls {
		list = append(list, c.seq(c.term(c.space), c.marked(b.word), b.then))
	}
	if !c.Required {
		list = append(list, c.contentOf(afterThoughts))
	}
	return c.choice(list...)
}

// marksContent returns the form of calls of a format in which content, too, may begin with the mark of a call.
func (c *compiler) marksContent() *output.Call {
	if calls := c.Format.Calls; calls != nil && calls.Call.Content != "" && calls.Call.Open != "" {
		return &calls.Call
	}
	return nil
}

// inCall reports whether the prompt has ended with that mark.
func (c *compiler) inCall() bool {
	call := c.marksContent()
	return call != nil && strings.Contains(c.Opened, call.Open)
}

// behindMark is the output behind it: a call, or what is marked as content.
func (c *compiler) behindMark(calls []branch) part {
	var list []part
	var later []branch
	for _, b := range calls {
		if b.word == "" {
			list = append(list, b.then)
		} else {
			later = append(later, b)
		}
	}
	content := c.literal(c.Format.Calls.Call.Content)
	switch {
	case c.Required:
	case c.Content != nil:
		list = append(list, c.seq(content, c.sym(c.content)))
	default:
		list = append(list, c.seq(content, c.text(later)))
	}
	return c.choice(list...)
}
